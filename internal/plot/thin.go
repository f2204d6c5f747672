package plot

import (
	"cmp"
	"math"
	"slices"
)

// columns is the number of columns in a thinned series; each keeps at most four points.
const columns = MaxPoints / 4

// thin returns at most MaxPoints of the points, in order of X, that give the same picture. at maps X to a position on
// the axis.
func thin(points []Point, kind Kind, at func(float64) float64) []Point {
	if kind == Bars || len(points) <= MaxPoints {
		return points
	}
	if kind != Scatter {
		return envelope(points, columns, at)
	}
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	// An envelope alone would hide where most points are, an even sample alone the extremes.
	out := envelope(points, columns/2, at)
	for i := range MaxPoints / 2 {
		out = append(out, points[i*len(points)/(MaxPoints/2)])
	}
	return out
}

// envelope keeps the first, the last, the lowest and the highest point in each of n columns.
func envelope(points []Point, n int, at func(float64) float64) []Point {
	low, high := at(points[0].X), at(points[len(points)-1].X)
	column := func(p Point) int {
		if !(high > low) {
			return 0
		}
		return min(int(float64(n)*(at(p.X)-low)/(high-low)), n-1)
	}
	var out []Point
	for start := 0; start < len(points); {
		end, least, most := start+1, start, start
		for ; end < len(points) && column(points[end]) == column(points[start]); end++ {
			if points[end].Y < points[least].Y {
				least = end
			}
			if points[end].Y > points[most].Y {
				most = end
			}
		}
		keep := []int{start, least, most, end - 1}
		slices.Sort(keep)
		for _, i := range slices.Compact(keep) {
			out = append(out, points[i])
		}
		start = end
	}
	return out
}

// place returns a function that maps a coordinate to its position on an axis, up to scale.
func (a *Axis) place() func(float64) float64 {
	if a.Log {
		return math.Log
	}
	return func(v float64) float64 { return v }
}
