package policy_test

import (
	"testing"

	"fairlane/policy"
)

func BenchmarkZZ(b *testing.B) {
	in := bareTrees()[1].onEthernet(b, policy.PlaneRoCE, true)
	in.Options.Lever, in.Options.Classes = policy.LeverBoth, siteClasses(7)
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if _, err := policy.Compile(in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("change", func(b *testing.B) { upAndDownAgain(b, in, func(int) int { return 31 }) })
	in.Options.Lever, in.Options.Classes = "", nil
	b.Run("dcqcn-cold", func(b *testing.B) {
		for b.Loop() {
			if _, err := policy.Compile(in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("dcqcn-change", func(b *testing.B) { upAndDownAgain(b, in, func(int) int { return 31 }) })
}
