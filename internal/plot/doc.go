// Package plot draws charts of simulation results as PNG and SVG: lines over time, distributions,
// grouped bars, values by flow size. A Chart says what is to be seen; sizes, fonts, colours, ticks and
// the place of the legend are the package's, so that all charts look alike. Colours are those of Okabe
// and Ito, which people with any colour vision tell apart, and lines differ by dashes, points by shape
// when there are more. The same chart gives the same bytes. Texts are Latin: the embedded fonts
// have no Chinese.
package plot
