// Command fairlane shares the bandwidth of RDMA fabrics among tenants by weight.
package main

import (
	"os"

	"fairlane/internal/app"
)

func main() { os.Exit(app.Process()) }
