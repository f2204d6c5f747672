package num

import "testing"

func BenchmarkExp(b *testing.B) {
	x := 0.0
	for b.Loop() {
		x = Exp(-x)
	}
}

func BenchmarkLn(b *testing.B) {
	x := 2.0
	for b.Loop() {
		x = Ln(x) + 2
	}
}
