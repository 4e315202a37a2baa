# Read by CMake when llama-cpp-python is compiled (see deploy/bootstrap.py).
#
# The Python bindings need libllama and libggml only, but their CMakeLists.txt forces llama.cpp's "common" library (chat
# templates, argument parsing, JSON) into the build with a cached variable. A normal variable of the same name wins over a
# cached one (CMake policies CMP0126 and CMP0077), so this file switches it off without touching the sources.
set(LLAMA_BUILD_COMMON OFF)
