# The simulated cluster and the naive model, which sim_test and the broken copies share.
file(GLOB sim_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sim/harness/*.cpp)
add_library(snug_sim_harness STATIC ${sim_sources})
target_include_directories(snug_sim_harness PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(snug_sim_harness PUBLIC snug_oracle snug_service)

# Deliberately broken copies: each patch changes one source file of src/, and the linker sees the
# changed object before the library that holds the right one. A test for each: the naive model must
# find it. The simulation itself runs under the sanitizers, so its broken copies need not.
if(SNUG_SANITIZE)
  return()
endif()
find_program(PATCH patch REQUIRED)
add_library(snug_mutant_main OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/sim/mutants/mutant_main.cpp)
target_link_libraries(snug_mutant_main PUBLIC snug_sim_harness)
file(GLOB patches CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sim/mutants/*.patch)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patches})
foreach(patch ${patches})
  get_filename_component(name ${patch} NAME_WE)
  file(STRINGS ${patch} header REGEX "^--- " LIMIT_COUNT 1)
  string(REGEX REPLACE "^--- ([^\t ]+).*$" "\\1" source "${header}")
  # Its object must not define what other sources of the library define.
  string(REGEX REPLACE "^src/(adapters/)?([^/]+)/.*$" "snug_\\2" layer "${source}")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${source} TARGET_DIRECTORY ${layer}
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # The run that found it last, which is tried first.
  file(STRINGS ${patch} found REGEX "^found: " LIMIT_COUNT 1)
  string(REGEX REPLACE "^found: " "" found "${found}")
  separate_arguments(found)
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.cpp)
  add_custom_command(
    OUTPUT ${mutated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/mutants
    COMMAND ${PATCH} --quiet --fuzz=0 --reject-file=- --output=${mutated} ${PROJECT_SOURCE_DIR}/${source} ${patch}
    DEPENDS ${patch} ${PROJECT_SOURCE_DIR}/${source}
    COMMENT "Breaking ${source}: ${name}"
    VERBATIM)
  add_executable(sim_mutant_${name} ${mutated})
  target_include_directories(sim_mutant_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(sim_mutant_${name} PRIVATE -w)  # it is meant to be wrong
  target_link_libraries(sim_mutant_${name} PRIVATE snug_mutant_main)
  target_link_options(sim_mutant_${name} PRIVATE -s)
  add_test(NAME sim_mutant.${name} COMMAND sim_mutant_${name} ${found})
  set_tests_properties(sim_mutant.${name} PROPERTIES TIMEOUT 300)
endforeach()
