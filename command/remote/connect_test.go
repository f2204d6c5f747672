package remote

import (
	"crypto/tls"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/api"
	"fairlane/command/cmdline"
	"fairlane/internal/testkit/tlstest"
	"fairlane/service/control/controltest"
)

func TestCertificatesAreCheckedAndShown(t *testing.T) {
	t.Parallel()
	services, managers := tlstest.New(t), tlstest.New(t)
	served, own, stranger := services.Issue("server", tlstest.Valid()), managers.Issue("client", tlstest.Valid()), tlstest.New(t).Issue("stranger", tlstest.Valid())
	r := controltest.New(t, openStore)
	h, err := api.New(r.Service, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{served.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: managers.Pool, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"all given", []string{"--ca-file", services.File, "--cert-file", own.CertFile, "--key-file", own.KeyFile}, 0, "[]"},
		{"an authority that is not known", []string{"--cert-file", own.CertFile, "--key-file", own.KeyFile}, 1, "certificate"},
		{"nothing to show", []string{"--ca-file", services.File}, 1, "does not answer"},
		{"a certificate that the service does not know", []string{"--ca-file", services.File, "--cert-file", stranger.CertFile, "--key-file", stranger.KeyFile}, 1, "does not answer"},
		{"no key", []string{"--ca-file", services.File, "--cert-file", own.CertFile}, 2, "belong together"},
		{"another's key", []string{"--ca-file", services.File, "--cert-file", own.CertFile, "--key-file", stranger.KeyFile}, 2, "want a certificate and its key"},
		{"no certificates", []string{"--ca-file", own.KeyFile}, 2, "found no certificate"},
		{"no file", []string{"--ca-file", filepath.Join(t.TempDir(), "nowhere")}, 2, "nowhere"},
	} {
		env := map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": controltest.Token}
		cmd, out, _ := asks(env, append([]string{"fabric", "list", "--json"}, tc.args...)...)
		err := cmd.ExecuteContext(t.Context())
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if code := cmdline.ExitCode(err); code != tc.code || !strings.Contains(text, tc.want) {
			t.Errorf("%s: ends with %d and %q, want %d and %q", tc.name, code, text, tc.code, tc.want)
		}
	}
}
