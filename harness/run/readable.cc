#include "harness/run/readable.h"

#include <sys/mman.h>
#include <unistd.h>

#include "harness/core/check.h"

namespace moediff {

ReadableProbe::ReadableProbe() : file_(memfd_create("moediff-probe", MFD_CLOEXEC)) {
  CHECK(file_.get() >= 0, "no descriptor left");
}

bool ReadableProbe::can_read(const void* address) const { return pwrite(file_.get(), address, 1, 0) == 1; }

}  // namespace moediff
