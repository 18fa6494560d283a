# moediff_kernel_module(NAME name BACKEND host|rocm SOURCES … [DEFINITIONS …]): one shared library from HIP sources.
#
# The same sources for each backend. host: ordinary C++ against kernels/hiphost, by clang++-19, which vectorises the tiles
# far better than g++ 12; the CMake compiler stands in where clang is missing, and under sanitizers, where one compiler has
# to build everything. rocm: HIP by clang++-19 against Debian's headers, device libraries and libamdhip64. (CMake's own
# HIP language does not accept Debian's packages.)
find_program(MOEDIFF_CLANG clang++-19 DOC "Compiler of kernels")

set(MOEDIFF_KERNEL_FLAGS -std=c++20 -O3 -march=x86-64-v3 -ffp-contract=off -fPIC -fvisibility=hidden
    -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion "-I${CMAKE_SOURCE_DIR}")

# The compiler and flags for a source with kernels (.hip) or without (.cc) for `backend`, in `out`. Sources without
# kernels are plain C++ everywhere: compiled as HIP, their tables of host functions would be wanted on the device too.
function(moediff_kernel_compiler backend extension out)
  set(command "${MOEDIFF_CLANG}" ${MOEDIFF_KERNEL_FLAGS})
  if(MOEDIFF_SANITIZE OR NOT MOEDIFF_CLANG)
    set(command "${CMAKE_CXX_COMPILER}" ${MOEDIFF_KERNEL_FLAGS} -Wno-unknown-pragmas)
  endif()
  if(MOEDIFF_SANITIZE)
    list(APPEND command -fsanitize=${MOEDIFF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  endif()
  if(backend STREQUAL host)
    list(APPEND command -x c++ "-I${CMAKE_SOURCE_DIR}/kernels/hiphost/include")
  elseif(extension STREQUAL .hip)
    list(TRANSFORM MOEDIFF_ROCM_ARCHS PREPEND --offload-arch= OUTPUT_VARIABLE archs)
    list(APPEND command -x hip ${archs} "--rocm-device-lib-path=${MOEDIFF_ROCM_DEVICE_LIBS}")
  else()
    list(APPEND command -x c++ -D__HIP_PLATFORM_AMD__)
  endif()
  set(${out} ${CCACHE} ${command} "$<$<CONFIG:Debug>:-g>" PARENT_SCOPE)
endfunction()

function(moediff_kernel_module)
  cmake_parse_arguments(ARG "" "NAME;BACKEND" "SOURCES;DEFINITIONS" ${ARGN})
  list(TRANSFORM ARG_DEFINITIONS PREPEND -D)
  set(objects)
  foreach(source ${ARG_SOURCES})
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    moediff_kernel_compiler(${ARG_BACKEND} ${extension} compiler)
    string(REPLACE "/" "_" stem "${source}")
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}/${stem}.o")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND ${compiler} ${ARG_DEFINITIONS} -MD -MF "${object}.d" -MT "${object}" -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
      DEPFILE "${object}.d"
      COMMENT "HIP ${ARG_BACKEND} ${source}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}")
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(${ARG_NAME} SHARED ${objects})
  set_target_properties(${ARG_NAME} PROPERTIES LINKER_LANGUAGE CXX BUILD_RPATH_USE_ORIGIN ON)
  # Everything bound at load, and the tables read-only: what is written later in the library's data is a kernel's doing.
  target_link_options(${ARG_NAME} PRIVATE -Wl,-z,now,-z,relro -Wl,--no-undefined)
  if(ARG_BACKEND STREQUAL rocm)
    target_link_libraries(${ARG_NAME} PRIVATE moediff_options amdhip64)
  else()
    target_link_libraries(${ARG_NAME} PRIVATE moediff_options moediff_hiphost)
  endif()
endfunction()

# Sets MOEDIFF_ROCM to whether HIP for AMD can be compiled and linked here, and MOEDIFF_ROCM_DEVICE_LIBS to a folder of device
# libraries. What is missing is found by compiling a kernel, for the same parts come in different packages.
function(moediff_find_rocm)
  set(MOEDIFF_ROCM OFF PARENT_SCOPE)
  if(MOEDIFF_SANITIZE)
    message(STATUS "rocm modules: left out, as sanitizers are on")
    return()
  endif()
  find_path(MOEDIFF_HIP_INCLUDE hip/hip_runtime.h)
  find_library(MOEDIFF_AMDHIP amdhip64)
  find_path(MOEDIFF_AMDGCN_BITCODE ocml.bc PATHS "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode" /usr/lib/amdgcn/bitcode)
  foreach(part MOEDIFF_CLANG MOEDIFF_HIP_INCLUDE MOEDIFF_AMDHIP MOEDIFF_AMDGCN_BITCODE)
    if(NOT ${part})
      message(STATUS "rocm modules: left out, as ${part} was not found (see packages-dev.txt)")
      return()
    endif()
  endforeach()

  # Debian's device libraries know gfx942 only by the name of its predecessor.
  set(links "${CMAKE_BINARY_DIR}/rocm-device-libs")
  file(MAKE_DIRECTORY "${links}")
  file(GLOB bitcode "${MOEDIFF_AMDGCN_BITCODE}/*.bc")
  foreach(file ${bitcode})
    cmake_path(GET file FILENAME name)
    file(CREATE_LINK "${file}" "${links}/${name}" SYMBOLIC)
  endforeach()
  if(NOT EXISTS "${links}/oclc_isa_version_942.bc")
    file(CREATE_LINK "${MOEDIFF_AMDGCN_BITCODE}/oclc_isa_version_940.bc" "${links}/oclc_isa_version_942.bc" SYMBOLIC)
  endif()
  set(MOEDIFF_ROCM_DEVICE_LIBS "${links}" PARENT_SCOPE)
  set(MOEDIFF_ROCM_DEVICE_LIBS "${links}")

  set(probe "${CMAKE_BINARY_DIR}/rocm-probe.hip")
  file(CONFIGURE OUTPUT "${probe}" CONTENT "#include <hip/hip_runtime.h>\n__global__ void probe(float* x) { *x = expf(*x); }\n")
  moediff_kernel_compiler(rocm .hip compiler)
  list(FILTER compiler EXCLUDE REGEX "CONFIG:Debug")
  execute_process(COMMAND ${compiler} -c "${probe}" -o "${probe}.o" RESULT_VARIABLE status ERROR_VARIABLE error OUTPUT_QUIET)
  if(NOT status EQUAL 0)
    message(STATUS "rocm modules: left out, as a kernel does not compile (see packages-dev.txt): ${error}")
    return()
  endif()
  message(STATUS "rocm modules: for ${MOEDIFF_ROCM_ARCHS}")
  set(MOEDIFF_ROCM ON PARENT_SCOPE)
endfunction()
