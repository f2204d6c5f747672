// Package local has the commands that work without a running service: compiling, discovering, looking at fabrics, configuration, import,
// files of OpenSM, CC_Keys, the database, and the doctor.
package local

import (
	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
)

// app is the local commands with what every command shares.
type app struct{ *cmdline.App }

// Add adds the commands that need no running service to the root, some of them below nouns of the service that are there.
func Add(shared *cmdline.App, root *cobra.Command) {
	a := &app{shared}
	root.AddCommand(a.initCommand(), a.configCommand(), a.dbCommand(), a.doctorCommand(), a.opensmCommand(), a.discoverCommand(), a.importCommand(), a.compileCommand(), a.ibProfileCommand(), a.versionCommand())
	cmdline.AddBelow(root, "device", a.ccKeyCommand())
	cmdline.AddBelow(root, "fabric", a.fabricCheckCommand(), a.fabricWatchCommand())
	a.localShow(root)
}
