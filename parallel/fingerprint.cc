#include "parallel/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace octant {

void Fingerprint::set_purpose(const char* text) {
  purpose.fill('\0');
  std::copy_n(text, std::min(std::strlen(text), purpose.size() - 1), purpose.begin());
}

void Fingerprint::add_piece(DType piece_dtype, int64_t stride, int64_t count) {
  // FNV-1a over the numbers: ranks compare it, nobody inverts it.
  for (const int64_t value : {static_cast<int64_t>(piece_dtype), stride, count}) {
    layout = (layout ^ static_cast<uint64_t>(value)) * 1099511628211ull;
    layout ^= layout >> 29;
  }
  dtype = piece_dtype;
  elements += count;
  bytes += count * size_of(piece_dtype);
}

std::string Fingerprint::str() const {
  std::string text(name_of(operation));
  if (operation != Collective::kBarrier) text += fmt::format(" of {} {}", elements, name_of(dtype));
  if (reduce == ReduceOp::kMax) text += " by max";
  if (host) text += " of the host";
  if (root >= 0) text += fmt::format(" from rank {} of the group", root);
  if (purpose[0] != '\0') text += fmt::format(" ({})", purpose.data());
  return text;
}

namespace {

bool is_message(Collective operation) {
  return operation == Collective::kSend || operation == Collective::kReceive;
}

}  // namespace

bool matches(const Fingerprint& a, const Fingerprint& b, bool strict) {
  const bool partners = is_message(a.operation) ? is_message(b.operation) : a.operation == b.operation;
  const bool same = partners && a.dtype == b.dtype && a.reduce == b.reduce && a.host == b.host &&
                    a.root == b.root && a.sequence == b.sequence && a.elements == b.elements &&
                    a.layout == b.layout;
  return same && (!strict || a.purpose == b.purpose);
}

std::string mismatch_text(const std::string& group, int rank_a, const Fingerprint& a, int rank_b,
                          const Fingerprint& b) {
  const bool a_first = rank_a < rank_b;
  const std::string first = a.str();
  const std::string second = b.str();
  std::string text = fmt::format(
      "ranks of group {} do not make the same call (number {}): rank {} calls {}, rank {} calls {}", group,
      a.sequence, a_first ? rank_a : rank_b, a_first ? first : second, a_first ? rank_b : rank_a,
      a_first ? second : first);
  if (first == second) text += "; their pieces are cut differently";
  return text;
}

}  // namespace octant
