package remote

import "testing"

func TestDecimalsOfReportsAreExactForWholeNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{2809738435300: "2809738435300", 717994502030: "717994502030", 0.999: "0.999", 1.0 / 3: "0.333333", 0: "0"} {
		if got := decimal(&v); got != want {
			t.Errorf("%v is printed as %q, want %q", v, got, want)
		}
	}
	if decimal(nil) != "" {
		t.Error("an unmeasured value is printed as a number")
	}
}
