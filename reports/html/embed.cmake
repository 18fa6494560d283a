# cmake -DFROM=folder -DPAGE=out.html -DSOURCE=out.cc -P embed.cmake
# Puts the style and the scripts into page.html, and the result into a C++ source as one raw string.
file(READ "${FROM}/page.html" page)
foreach(part page.css dom.js records.js picture.js charts.js detail.js matrix.js table.js page.js)
  file(READ "${FROM}/${part}" text)
  string(REPLACE "{{${part}}}" "${text}" page "${page}")
endforeach()
file(WRITE "${PAGE}" "${page}")
file(WRITE "${SOURCE}" "// Built from reports/html.
#include <string_view>

namespace moediff {
extern const std::string_view kPageText;
const std::string_view kPageText = R\"moediff_page(${page})moediff_page\";
}  // namespace moediff
")
