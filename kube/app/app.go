// Package app is the process of fairlane-kube: its command line, its connections to the cluster and to the manager, the
// controller and the webhook.
package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlane/api/client"
	"fairlane/internal/certpool"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/program"
	"fairlane/internal/usage"
	"fairlane/kube/admission"
	"fairlane/kube/controller"
	"fairlane/kube/manager"
)

// flags are the values of the command line.
type flags struct {
	Options
	manager, token, authority string
}

// Process is Main for this process.
func Process() int { return program.Process(Main) }

// Main runs the command line and returns its exit code: 0 done, 1 failed, 2 wrong usage.
func Main(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return program.Main(ctx, args, getenv, stdout, stderr, func(text *i18n.Catalogue) *cobra.Command { return command(text, stderr) })
}

func command(text *i18n.Catalogue, stderr io.Writer) *cobra.Command {
	var f flags
	root := &cobra.Command{
		Use: "fairlane-kube", Short: text.T("kube.short"), Long: text.T("kube.long"), Args: cobra.NoArgs,
		Example: "  fairlane-kube --cluster lab1 --manager https://fairlane.example:8470 --manager-token-file /etc/fairlane-manager/token",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.run(cmd.Context(), stderr)
		},
	}
	set := root.Flags()
	set.StringVar(&f.Cluster, "cluster", "", text.T("kube.flag.cluster"))
	set.StringVar(&f.manager, "manager", "", text.T("kube.flag.manager"))
	set.StringVar(&f.token, "manager-token-file", "", text.T("kube.flag.manager-token-file"))
	set.StringVar(&f.authority, "manager-ca-file", "", text.T("kube.flag.manager-ca-file"))
	set.StringVar((*string)(&f.HostNetwork), "host-network", string(admission.Warn), text.T("kube.flag.host-network"))
	set.StringSliceVar(&f.Resources, "rdma-resource", admission.DefaultResources(), text.T("kube.flag.rdma-resource"))
	set.DurationVar(&f.Debounce, "debounce", 2*time.Second, text.T("kube.flag.debounce"))
	set.DurationVar(&f.Every, "interval", 30*time.Second, text.T("kube.flag.interval"))
	set.StringVar(&f.Namespace, "namespace", "fairlane-system", text.T("kube.flag.namespace"))
	set.IntVar(&f.WebhookPort, "webhook-port", 9443, text.T("kube.flag.webhook-port"))
	set.StringVar(&f.Health, "health", ":8081", text.T("kube.flag.health"))
	set.StringVar(&f.Metrics, "metrics", ":8080", text.T("kube.flag.metrics"))
	return root
}

// clusterName matches names of clusters: with the prefix of FeedOf they are names of the API.
var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`)

// check checks the values of the flags.
func (f *flags) check() error {
	for _, c := range []struct {
		flag, value string
		want        phrase.Text
	}{
		{"cluster", f.Cluster, phrase.Of("kube.want-cluster")},
		{"manager", f.manager, phrase.Of("kube.want-manager")},
		{"manager-token-file", f.token, phrase.Of("kube.want-token")},
	} {
		if c.value == "" {
			return usage.Of(phrase.Of("usage.flag-missing", "flag", c.flag, "usage", c.want))
		}
	}
	bad := func(flag string, value any, want phrase.Text) error {
		return usage.Of(phrase.Of("usage.bad-value", "value", strconv.Quote(fmt.Sprint(value)), "flag", "--"+flag, "reason", want))
	}
	if !clusterName.MatchString(f.Cluster) {
		return bad("cluster", f.Cluster, phrase.Of("kube.want-cluster"))
	}
	if f.HostNetwork != admission.Warn && f.HostNetwork != admission.Deny {
		return bad("host-network", f.HostNetwork, phrase.Of("kube.want-host-network"))
	}
	for _, p := range f.Resources {
		if _, err := path.Match(p, "x"); err != nil {
			return bad("rdma-resource", p, phrase.Of("kube.want-pattern"))
		}
	}
	if f.Debounce < 0 || f.Debounce > time.Minute {
		return bad("debounce", f.Debounce, phrase.Of("kube.want-debounce"))
	}
	if f.Every < time.Second || f.Every > time.Hour {
		return bad("interval", f.Every, phrase.Of("kube.want-interval"))
	}
	return nil
}

func (f *flags) run(ctx context.Context, stderr io.Writer) error {
	handler := slog.NewJSONHandler(stderr, nil)
	log.SetLogger(logr.FromSlogHandler(handler))
	klog.SetSlogLogger(slog.New(handler))
	m, err := f.connect()
	if err != nil {
		return err
	}
	cluster, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	return Run(ctx, cluster, m, f.Options)
}

// patience is the time limit of a request to the manager.
const patience = 30 * time.Second

// connect returns the manager. It reads the token for every request, since the kubelet updates the files of a Secret.
func (f *flags) connect() (controller.Manager, error) {
	if _, err := readToken(f.token); err != nil {
		return nil, usage.Wrap(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if f.authority != "" {
		pool, err := certpool.Read(f.authority)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	api, err := client.New(f.manager, "", &http.Client{Timeout: patience, Transport: tokenTransport{f.token, transport}})
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return manager.New(api), nil
}

// tokenTransport adds the token in a file to requests.
type tokenTransport struct {
	path string
	next http.RoundTripper
}

// RoundTrip sends a request with the token.
func (t tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := readToken(t.path)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(r)
}

// readToken reads a token. Its errors never contain it.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s: want one token, without spaces", path)
	}
	return token, nil
}
