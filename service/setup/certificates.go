package setup

import (
	"log/slog"

	"fairlane/internal/servertls"
	"fairlane/service/config"
)

// certificates opens the API's TLS material, which is read again when a file of it changes.
func certificates(files config.TLS, log *slog.Logger) (*servertls.Source, error) {
	return servertls.Open(servertls.Files{
		Certificate: files.CertFile, Key: files.KeyFile, Clients: files.ClientCAFile, MustHave: files.ClientAuth == "require",
	}, log)
}
