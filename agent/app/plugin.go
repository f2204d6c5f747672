package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlane/agent/host"
	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/internal/durable"
	"fairlane/internal/phrase"
)

// pluginName is the name by which network configurations select the plugin.
const pluginName = "fairlane-cni"

func (a *app) pluginCommand() *cobra.Command {
	group := &cobra.Command{Use: "plugin", Short: a.t("agent.plugin.short"), Long: a.t("agent.plugin.long"), Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var from string
	install := &cobra.Command{
		Use: "install DIR", Short: a.t("agent.plugin.install.short"), Long: a.t("agent.plugin.install.long"), Args: cobra.ExactArgs(1),
		Example: "  fairlane-agent plugin install --from /fairlane-cni /opt/cni/bin",
		RunE: func(_ *cobra.Command, args []string) error {
			to := filepath.Join(args[0], pluginName)
			if err := installPlugin(from, to); err != nil {
				return err
			}
			_, err := fmt.Fprintln(a.stdout, a.t("agent.plugin.installed", "file", to))
			return err
		},
	}
	install.Flags().StringVar(&from, "from", "/"+pluginName, a.t("agent.flag.from"))
	remove := &cobra.Command{
		Use: "remove DIR", Short: a.t("agent.plugin.remove.short"), Long: a.t("agent.plugin.remove.long"), Args: cobra.ExactArgs(1),
		Example: "  fairlane-agent plugin remove --config /etc/fairlane-agent/agent.yaml /opt/cni/bin",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.removePlugin(cmd.Context(), args[0]) },
	}
	group.AddCommand(install, remove)
	return group
}

// installPlugin replaces the plugin by a program, at one instant. It leaves an equal plugin alone.
func installPlugin(from, to string) error {
	want, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := durable.RemoveRemains(filepath.Dir(to), 0); err != nil {
		return err
	}
	now, err := os.ReadFile(to)
	if err == nil && bytes.Equal(now, want) {
		return os.Chmod(to, 0o755)
	}
	if err := durable.WriteFile(to, want, 0o755); err != nil {
		return phrase.Because(err, phrase.Of("file.write", "file", to, "reason", err))
	}
	return nil
}

// removePlugin removes the plugin from a folder, unless pods need it.
func (a *app) removePlugin(ctx context.Context, dir string) (err error) {
	c, err := a.config()
	if err != nil {
		return err
	}
	o := c.hostOptions()
	o.Quiet, o.ReadOnly = true, true
	h, err := host.Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	boot, err := h.BootID(ctx)
	if err != nil {
		return err
	}
	records, err := pods.Read(c.Pods.State, boot)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, pluginName)
	var using []string
	for _, r := range records {
		if r.Source == podsock.SourceCNI && present(h.NetNamespaces(), r.NetNS) {
			using = append(using, r.Pod.Namespace+"/"+r.Pod.Name)
		}
	}
	if len(using) > 0 {
		return fault(phrase.Of("agentplugin.in-use", "file", file, "count", len(using), "pods", using))
	}
	if err := durable.RemoveRemains(dir, 0); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, a.t("agent.plugin.removed", "file", file))
	return err
}

// present reports whether a network namespace exists, as far as can be seen.
func present(n host.NetNamespaces, path string) bool {
	_, err := n.Identify(path)
	return err == nil || !n.Gone(path, "")
}
