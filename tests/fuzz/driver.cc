// A small driver for the fuzz targets where libFuzzer is not at hand (GCC):
//
//   fuzz_index [seconds] [seed]
//
// It mutates the target's valid inputs for that long (60 seconds, seed 1) and feeds them to
// LLVMFuzzerTestOneInput. The same seed gives the same inputs. Build it with the asan preset; a crash or a
// sanitizer's report is a finding.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

using Bytes = std::vector<uint8_t>;

void mutate(Bytes& bytes, std::mt19937_64& random) {
  const auto below = [&random](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
  const auto at = [&](size_t offset) { return bytes.begin() + static_cast<int64_t>(offset); };
  switch (random() % 7) {
    case 0:
      if (!bytes.empty()) bytes[below(bytes.size())] ^= static_cast<uint8_t>(1u << random() % 8);
      break;
    case 1:
      if (!bytes.empty()) bytes[below(bytes.size())] = static_cast<uint8_t>(random());
      break;
    case 2:
      bytes.resize(below(bytes.size() + 1));
      break;
    case 3:
      bytes.insert(at(below(bytes.size() + 1)), 1 + below(16), static_cast<uint8_t>(random()));
      break;
    case 4: {
      const size_t begin = below(bytes.size());
      bytes.erase(at(begin), at(begin + below(bytes.size() - begin + 1)));
      break;
    }
    case 5: {  // a count or an offset at one of the edges
      constexpr uint64_t kEdges[] = {0,          1,          0x7f,       0xff,       0x7fffffff, 0x80000000,
                                     0xffffffff, 1ull << 61, ~0ull >> 1, 1ull << 63, ~0ull};
      const uint64_t value = kEdges[below(std::size(kEdges))] + random() % 3 - 1;
      const size_t width = random() % 2 ? 8 : 4;
      if (bytes.size() >= width) std::memcpy(bytes.data() + below(bytes.size() - width + 1), &value, width);
      break;
    }
    case 6: {  // one piece over another
      const size_t count = below(bytes.size() / 2 + 1);
      std::memmove(bytes.data() + below(bytes.size() - count + 1),
                   bytes.data() + below(bytes.size() - count + 1), count);
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::mt19937_64 random(seed);
  const std::vector<Bytes> valid = octant::fuzz::valid_inputs();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t inputs = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 256; ++i, ++inputs) {
      Bytes bytes = valid[random() % valid.size()];
      for (uint64_t changes = random() % 6; changes > 0; --changes) mutate(bytes, random);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
  }
  std::printf("%llu inputs from seed %llu, no finding\n", static_cast<unsigned long long>(inputs),
              static_cast<unsigned long long>(seed));
}
