#include <regex>

#include "tests/cli/case.h"

namespace octant::cli {

std::string xml_fault(const std::string& text) {
  static const std::regex open(
      R"re(^([A-Za-z][\w:.-]*)(\s+[A-Za-z][\w:.-]*\s*=\s*("[^"<]*"|'[^'<]*'))*\s*(/?)$)re");
  static const std::regex close(R"re(^/([A-Za-z][\w:.-]*)\s*$)re");
  static const std::regex ampersand(R"re(&(?!(amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);))re");
  if (std::regex_search(text, ampersand)) return "an ampersand that begins no entity";
  std::vector<std::string> opened;
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find('<', at);
    const std::string between = text.substr(at, begin - at);
    if (opened.empty() && between.find_first_not_of(" \t\r\n") != std::string::npos)
      return "text outside of the element: " + between;
    if (begin == std::string::npos) break;
    const size_t end = text.find('>', begin);
    if (end == std::string::npos) return "a tag that does not end";
    const std::string tag = text.substr(begin + 1, end - begin - 1);
    at = end + 1;
    std::smatch match;
    if (tag.starts_with("?") || tag.starts_with("!--")) continue;
    if (std::regex_match(tag, match, close)) {
      if (opened.empty() || opened.back() != match[1]) return "<" + tag + "> closes what is not open";
      opened.pop_back();
    } else if (std::regex_match(tag, match, open)) {
      if (opened.empty() && any) return "a second element: <" + tag + ">";
      any = true;
      if (match[4].length() == 0) opened.push_back(match[1]);
    } else {
      return "<" + tag + "> is no tag";
    }
  }
  if (!opened.empty()) return "<" + opened.back() + "> is not closed";
  return any ? std::string() : "no element";
}

}  // namespace octant::cli
