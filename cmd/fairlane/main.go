// Command fairlane shares the bandwidth of RDMA fabrics among tenants by weight.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"fairlane/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := app.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
