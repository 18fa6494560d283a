# Language level, warnings and sanitizers, in one place.
add_library(moediff_options INTERFACE)
target_compile_features(moediff_options INTERFACE cxx_std_20)
target_include_directories(moediff_options INTERFACE "${CMAKE_SOURCE_DIR}")
# -ffp-contract=off: a product and a sum are fused only where the source says fma (architecture §4).
target_compile_options(moediff_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -ffp-contract=off -march=x86-64-v3)
if(MOEDIFF_SANITIZE)
  target_compile_options(moediff_options INTERFACE -fsanitize=${MOEDIFF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(moediff_options INTERFACE -fsanitize=${MOEDIFF_SANITIZE})
endif()
