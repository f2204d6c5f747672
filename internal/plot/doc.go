// Package plot draws charts of simulation results as PNG and SVG: lines over time, distributions, grouped bars, values
// by flow size. A Chart defines the content; the package defines sizes, fonts, colours, ticks and the place of the
// legend, so that all charts look alike. The colours, from Okabe and Ito, are distinguishable with any colour vision.
// If there are more series than colours, lines also differ by dashes and points by shape. The same chart gives the same
// bytes. Texts are Latin: the embedded fonts have no Chinese glyphs.
package plot
