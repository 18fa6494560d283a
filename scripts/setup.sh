# Shared by ./run and ./test: Debian packages and the Release build. Sourced, not run.

say() { printf '== %s\n' "$*" >&2; }

# Installs the packages named in the given files that are missing; asks for root only when there is something to do.
install_packages() {
  local missing=() package
  while read -r package; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done < <(sed 's/#.*//' "$@" | tr -s ' \t' '\n' | grep . | sort -u)
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { say "run this as root, or install sudo"; exit 125; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Configures when needed, then builds the given targets with progress. `tests`: ON or OFF.
build_release() {
  local tests=$1
  shift
  if [ ! -f build/build.ninja ] || { [ "$tests" = ON ] && ! grep -q '^MOEDIFF_TESTS:BOOL=ON' build/CMakeCache.txt; }; then
    say "configuring (Release, build/)"
    local log
    log=$(mktemp)
    cmake --preset release -DMOEDIFF_TESTS="$tests" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }
    rm -f "$log"
  fi
  say "building"
  cmake --build build --target "$@" >&2
}
