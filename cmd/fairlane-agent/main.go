// Command fairlane-agent is the host agent: it tells managers of the fabric what the RoCE NICs of a host are set to and what
// they count, and sets them, over gNMI.
package main

import (
	"os"

	"fairlane/agent/app"
)

func main() { os.Exit(app.Process()) }
