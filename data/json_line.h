// Takes the text out of one line of a JSONL file.
//
//   JsonText result = read_json_line(R"({"id": 7, "text": "héllo"})", "text");
//   result.ok ? use(result.text) : report(result.reason);
//
// Strict: the line is one JSON object in valid UTF-8, with the key at its top level, once, as a string.
// Nesting is limited, and parsed without recursion, so that no line can overflow the stack. A pure function.
#pragma once

#include <string>
#include <string_view>

namespace octant {

struct JsonText {
  bool ok = false;
  std::string text;
  std::string reason;  // why not
};

inline constexpr int kJsonDepthLimit = 256;

JsonText read_json_line(std::string_view line, const std::string& key);

}  // namespace octant
