package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlane/agent"
	"fairlane/agent/host"
	"fairlane/agent/pods"
)

// restored is one row of restore's output.
type restored struct {
	NIC      string  `json:"nic"` // or the device of a pod
	Port     int     `json:"port"`
	Name     string  `json:"name"`
	Index    int     `json:"index"`
	Now      *uint64 `json:"now"` // null: unreadable
	Original *uint64 `json:"original"`
}

func (a *app) restoreCommand() *cobra.Command {
	var asJSON, dry, purge, hold bool
	cmd := &cobra.Command{
		Use: "restore", Short: a.t("agent.restore.short"), Long: a.t("agent.restore.long"), Args: cobra.NoArgs,
		Example: "  fairlane-agent restore --dry-run\n  systemctl stop fairlane-agent && fairlane-agent restore",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.restore(cmd.Context(), dry, purge, asJSON)
			if err == nil && hold {
				<-cmd.Context().Done()
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, a.t("agent.flag.dry-run"))
	cmd.Flags().BoolVar(&purge, "purge", false, a.t("agent.flag.purge"))
	cmd.Flags().BoolVar(&hold, "hold", false, a.t("agent.flag.hold"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.t("agent.flag.json"))
	return cmd
}

func (a *app) restore(ctx context.Context, dry, purge, asJSON bool) (err error) {
	c, err := a.config()
	if err != nil {
		return err
	}
	if !dry {
		unlock, locked := lockJournal(c.Journal)
		if locked != nil {
			return locked
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	on, h, err := a.openReadOnly(ctx, &c, !dry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	// Pods first: what they had before their class may be a manager's value.
	rows, podsFailed := restorePods(ctx, &c, h, dry)
	all, failed := on.Restore(ctx, dry)
	failed = errors.Join(podsFailed, failed)
	if err := a.printRestored(rows, all, dry, asJSON, failed != nil); err != nil {
		return err
	}
	if failed == nil && purge && !dry { // while the journal is locked against an agent that starts
		return errors.Join(os.RemoveAll(c.Pods.State), agent.NewFileJournal(c.Journal).Remove(), os.Remove(c.Journal+lockSuffix))
	}
	return failed
}

// restorePods restores the devices of pods, and returns the values that they have again; with dry it changes nothing.
func restorePods(ctx context.Context, c *Config, h *host.Host, dry bool) ([]restored, error) {
	boot, err := h.BootID(ctx)
	if err != nil {
		return nil, err
	}
	records, err := pods.Read(c.Pods.State, boot)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	var rows []restored
	for _, r := range records {
		rows = append(rows, restoredSetting(r.Device, "max_mbps", r.Applied.MaxMbps, r.ReadBack.MaxMbps, r.Before.MaxMbps)...)
		rows = append(rows, restoredSetting(r.Device, "share_mbps", r.Applied.ShareMbps, r.ReadBack.ShareMbps, r.Before.ShareMbps)...)
		rows = append(rows, restoredSetting(r.Device, "tos", r.Applied.TOS, r.ReadBack.TOS, r.Before.TOS)...)
	}
	if dry {
		return rows, nil
	}
	table, err := openTable(ctx, c, h, noBindings{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return rows, table.RestoreAll(ctx)
}

// noBindings knows no binding: nothing is attached while devices are restored.
type noBindings struct{}

func (noBindings) Binding(string) (pods.Binding, time.Duration, pods.State) {
	return pods.Binding{}, 0, pods.Unknown
}

// restoredSetting returns the row of an applied setting.
func restoredSetting[T uint8 | uint32](device, name string, applied, now, before *T) []restored {
	if applied == nil {
		return nil
	}
	wide := func(v *T) *uint64 {
		if v == nil {
			return nil
		}
		return new(uint64(*v))
	}
	return []restored{{NIC: device, Name: name, Now: wide(now), Original: wide(before)}}
}

func (a *app) printRestored(rows []restored, all []agent.Restoration, dry, asJSON, failed bool) error {
	for _, r := range all {
		for _, p := range r.Params {
			row := restored{NIC: r.Name, Port: p.Port, Name: p.Name, Index: p.Index, Original: &p.Original}
			if p.Readable {
				row.Now = &p.Now
			}
			rows = append(rows, row)
		}
		for _, port := range r.WRCC {
			rows = append(rows, restored{NIC: r.Name, Port: port, Name: "wrcc"})
		}
	}
	if asJSON {
		return a.printJSON(append([]restored{}, rows...)) // never null
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.stdout, a.t("agent.restore.nothing"))
		return err
	}
	number := func(n *uint64) string {
		if n == nil {
			return "-"
		}
		return strconv.FormatUint(*n, 10)
	}
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = []string{r.NIC, strconv.Itoa(r.Port), r.Name, strconv.Itoa(r.Index), number(r.Now), number(r.Original)}
	}
	if err := a.table(a.heads("nic", "port", "parameter", "index", "before", "after"), cells); err != nil {
		return err
	}
	key := "agent.restore.done"
	if dry {
		key = "agent.restore.dry"
	}
	if failed {
		return nil // the command's error reports it
	}
	_, err := fmt.Fprintln(a.stderr, a.t(key, "count", len(rows)))
	return err
}
