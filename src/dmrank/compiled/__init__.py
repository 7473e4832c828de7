"""What compiled code is made of: compiling, its cache, threads, ranges, SIMD vectors."""
