# moediff_test(NAME name LABEL unit|oracle|fault|cli|repo SOURCES … [LIBRARIES …]): one GoogleTest program whose cases
# ctest lists one by one under the label. Tests run in the source folder, so that they can name files of the repository.
include(GoogleTest)
function(moediff_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE moediff_options ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test-programs")
  target_compile_definitions(${ARG_NAME} PRIVATE MOEDIFF_BUILD_DIR="${CMAKE_BINARY_DIR}" MOEDIFF_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(${ARG_NAME} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" DISCOVERY_MODE PRE_TEST TEST_PREFIX "${ARG_LABEL}." PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 300)
endfunction()
