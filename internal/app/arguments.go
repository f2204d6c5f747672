package app

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// oneArg accepts exactly one argument, and names it when it is missing.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return usagef("%s: argument %s is missing: want %s", cmd.CommandPath(), name, cmd.UseLine())
		default:
			return usagef("%s: %d arguments (%s): want one, %s", cmd.CommandPath(), len(args), strings.Join(args, " "), name)
		}
	}
}

// seedValue is a seed as a flag.
type seedValue uint64

// seedFlag adds --seed, which is put into to; what is there is the default.
func (a *app) seedFlag(cmd *cobra.Command, to *uint64, initial uint64) {
	*to = initial
	cmd.Flags().Var((*seedValue)(to), "seed", a.t("flag.seed"))
}

// Set reads a decimal seed, or one with the prefix 0x, 0o or 0b.
func (v *seedValue) Set(text string) error {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return fmt.Errorf("want a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	*v = seedValue(n)
	return nil
}

// String returns the seed in decimal.
func (v *seedValue) String() string { return strconv.FormatUint(uint64(*v), 10) }

// Type names the kind of value in help texts.
func (v *seedValue) Type() string { return "uint64" }
