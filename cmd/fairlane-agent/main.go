// Command fairlane-agent is the host agent: it reports to managers of the fabric the settings of a host's RoCE NICs and what
// they count, and sets them, over gNMI.
package main

import (
	"os"

	"fairlane/agent/app"
)

func main() { os.Exit(app.Process()) }
