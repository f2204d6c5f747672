package num

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/testkit/fusetest"
)

func TestLnAndExpAgreeWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Float64Range(-700, 700).Draw(rt, "x")
		if got, want := Exp(x), math.Exp(x); math.Abs(got-want) > 1e-13*want {
			rt.Fatalf("Exp(%v) = %v, want %v", x, got, want)
		}
		y := math.Exp(x)
		if got, want := Ln(y), math.Log(y); math.Abs(got-want) > 1e-14*max(1, math.Abs(want)) {
			rt.Fatalf("Ln(%v) = %v, want %v", y, got, want)
		}
	})
}

func TestLogarithmOfAPartIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		u := math.Exp(-rapid.Float64Range(0, 40).Draw(rt, "x"))
		if got, want := -Ln(u), -math.Log(u); math.Abs(got-want) > 1e-15+4e-16*want {
			rt.Fatalf("-Ln(%v) = %v, want %v", u, got, want)
		}
	})
	if Ln(1) != 0 {
		t.Errorf("Ln(1) = %v", Ln(1))
	}
}

func TestNoProductCanBeFusedIntoASum(t *testing.T) {
	t.Parallel()
	fusetest.Check(t, "internal/num", 20)
}
