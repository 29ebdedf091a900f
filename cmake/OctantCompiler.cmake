# Warnings as errors, the sanitizers of the presets, ccache where the machine has it.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(OCTANT_CCACHE ccache)
if(OCTANT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OCTANT_CCACHE})
endif()

add_library(octant_options INTERFACE)
target_compile_options(octant_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
# No -ffast-math and no contraction that the source does not ask for: an element's bits must not depend on
# where a range was cut or on how the compiler chose to vectorise its tail.
target_compile_options(octant_options INTERFACE -ffp-contract=off)
target_include_directories(octant_options INTERFACE ${CMAKE_SOURCE_DIR})

set(OCTANT_SANITIZE "" CACHE STRING "Comma-separated sanitizers (address,undefined or thread)")
if(OCTANT_SANITIZE)
  target_compile_options(octant_options INTERFACE -fsanitize=${OCTANT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1)
  target_link_options(octant_options INTERFACE -fsanitize=${OCTANT_SANITIZE})
  if(OCTANT_SANITIZE MATCHES address)
    target_sources(octant_options INTERFACE
                   "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${CMAKE_SOURCE_DIR}/cmake/leaks_under_mpi.cc>")
  endif()
endif()
