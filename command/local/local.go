// Package local has the commands that need no running service: compiling, discovering and inspecting fabrics,
// configuration, import, rules of alerts, files of OpenSM, CC_Keys, the database, and the doctor.
package local

import (
	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
)

// app holds the local commands and the state that all commands share.
type app struct{ *cmdline.App }

// Add adds the commands to the root, some of them below existing nouns of the service.
func Add(shared *cmdline.App, root *cobra.Command) {
	a := &app{shared}
	root.AddCommand(a.initCommand(), a.configCommand(), a.dbCommand(), a.doctorCommand(), a.opensmCommand(), a.discoverCommand(), a.importCommand(), a.structureCommand(), a.compileCommand(), a.ibProfileCommand(), a.versionCommand())
	cmdline.AddBelow(root, "alert", a.alertRulesCommand())
	cmdline.AddBelow(root, "device", a.ccKeyCommand())
	cmdline.AddBelow(root, "alert", a.alertTestCommand())
	cmdline.AddBelow(root, "fabric", a.fabricCheckCommand(), a.fabricWatchCommand())
	a.localShow(root)
}
