// Package lab has the commands of the laboratory: simulations, live fabrics, published experiments, evaluation and calibration.
package lab

import (
	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
)

// app holds the commands of the laboratory and the state that all commands share.
type app struct{ *cmdline.App }

// Add adds the commands of the laboratory to the root.
func Add(shared *cmdline.App, root *cobra.Command) {
	a := &app{shared}
	root.AddCommand(a.simCommand(), a.reproduceCommand(), a.evaluateCommand(), a.calibrateCommand())
}
