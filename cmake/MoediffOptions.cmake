# Language level, warnings and sanitizers, in one place.
add_library(moediff_options INTERFACE)
target_compile_features(moediff_options INTERFACE cxx_std_20)
target_include_directories(moediff_options INTERFACE "${CMAKE_SOURCE_DIR}")
# -ffp-contract=off: a product and a sum are fused only where the source says fma (architecture §4).
target_compile_options(moediff_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -ffp-contract=off -march=x86-64-v3)
# g++ 12 warns of std::string's own code at -O2 (GCC bugs 105329 and 105562): noise that would hide a real warning.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(moediff_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(MOEDIFF_SANITIZE)
  target_compile_options(moediff_options INTERFACE -fsanitize=${MOEDIFF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(moediff_options INTERFACE -fsanitize=${MOEDIFF_SANITIZE})
endif()
