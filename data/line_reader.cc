#include "data/line_reader.h"

#include <algorithm>
#include <cstring>

namespace octant {

LineReader::LineReader(const std::string& path) : file_(path) {
  char mark[3];
  if (file_.size() < 3) return;
  file_.read(0, mark, 3);
  if (std::memcmp(mark, "\xEF\xBB\xBF", 3) == 0) offset_ = 3;
}

bool LineReader::refill() {
  constexpr int64_t kBlock = int64_t{1} << 20;
  const int64_t bytes = std::min(kBlock, file_.size() - offset_);
  if (bytes <= 0) return false;
  block_.resize(static_cast<size_t>(bytes));
  file_.read(offset_, block_.data(), bytes);
  offset_ += bytes;
  position_ = 0;
  return true;
}

bool LineReader::next(std::string& line) {
  line.clear();
  bool any = false;
  while (position_ < block_.size() || refill()) {
    any = true;
    const char* begin = block_.data() + position_;
    const size_t left = block_.size() - position_;
    const auto* end = static_cast<const char*>(std::memchr(begin, '\n', left));
    line.append(begin, end ? static_cast<size_t>(end - begin) : left);
    position_ += end ? static_cast<size_t>(end - begin) + 1 : left;
    if (end) break;
  }
  number_ += any;
  return any;
}

}  // namespace octant
