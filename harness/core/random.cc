// Counter-based random numbers: splitmix64 read at an arbitrary position (its state advances by a constant, so the
// state at `index` is key + (index + 1) * constant), and Box-Muller for normals.
#include "harness/core/random.h"

#include <cmath>
#include <numbers>

#include "harness/core/hash.h"

namespace moediff {

std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  return Hasher().add(static_cast<std::int64_t>(seed)).add(name).value();
}

std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

double random_uniform(std::uint64_t key, std::uint64_t index) {
  return static_cast<double>(random_bits(key, index) >> 11) * 0x1p-53;
}

double random_normal(std::uint64_t key, std::uint64_t index) {
  const double open = 1.0 - random_uniform(key, 2 * index);  // in (0, 1], so that the logarithm is finite
  const double angle = 2.0 * std::numbers::pi * random_uniform(key, 2 * index + 1);
  return std::sqrt(-2.0 * std::log(open)) * std::cos(angle);
}

}  // namespace moediff
