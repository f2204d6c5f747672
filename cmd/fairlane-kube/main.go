// Command fairlane-kube is the controller of a Kubernetes cluster: it reports to the manager of a fabric which ports the pods of
// each tenant use, and answers the webhook for pods.
package main

import (
	"os"

	"fairlane/kube/app"
)

func main() { os.Exit(app.Process()) }
