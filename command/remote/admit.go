package remote

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/tenants"
)

// AdmitFiles are the input files of an admission without the service.
type AdmitFiles struct{ Fabric, Tenants, Flows, IBProfiles string }

// admitFlags are the flags of `plan admit`.
type admitFlags struct {
	tenant, weight, guarantee, limit string
	ports, to                        []string
	qps                              int
	change, reservations, strict     bool
	revision                         int64
	options                          optionFlags
	files                            AdmitFiles
}

// planAdmit checks whether a tenant can be admitted: through the service or, with --tenants, by the compiler on files.
func (c *cli) planAdmit() *cobra.Command {
	var f admitFlags
	example := "  fairlane plan admit --tenant new --weight 2 --ports 'host-[001-016]' --guarantee 10Gbit/s\n" +
		"  fairlane plan admit --tenant gold --change --weight 8"
	if c.admit != nil {
		example += "\n  fairlane plan admit --fabric fabric.yaml --tenants tenants.yaml --tenant new --weight 2 --ports host-001 --to host-002,host-003"
	}
	cmd := c.verb("plan", "admit", example, cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		body, err := c.admitBody(cmd, &f)
		if err != nil {
			return err
		}
		return c.admitAsk(cmd, &f, body)
	})
	cmd.Long = c.t("admit.long")
	fl := cmd.Flags()
	fl.StringVar(&f.tenant, "tenant", "", c.t("admit.flag.tenant"))
	fl.StringVar(&f.weight, "weight", "", c.t("flag.weight"))
	fl.StringVar(&f.guarantee, "guarantee", "", c.t("flag.guarantee"))
	fl.StringVar(&f.limit, "cap", "", c.t("flag.cap"))
	fl.StringSliceVar(&f.ports, "ports", nil, c.t("admit.flag.ports"))
	fl.StringSliceVar(&f.to, "to", nil, c.t("admit.flag.to"))
	fl.IntVar(&f.qps, "qps", 1, c.t("admit.flag.qps"))
	fl.BoolVar(&f.change, "change", false, c.t("admit.flag.change"))
	fl.BoolVar(&f.reservations, "allow-reservations", false, c.t("admit.flag.allow-reservations"))
	fl.BoolVar(&f.strict, "strict", false, c.t("admit.flag.strict"))
	_ = fl.MarkHidden("strict") // now the default; kept from the time when reservations passed by default
	cmd.MarkFlagsMutuallyExclusive("allow-reservations", "strict")
	fl.BoolVar(&c.rows.all, "all", false, c.t("admit.flag.all"))
	fl.Int64Var(&f.revision, "policy", 0, c.t("flag.policy"))
	f.options.add(c, cmd)
	if c.admit != nil {
		cmd.Long += "\n\n" + c.t("admit.offline")
		fl.StringVar(&f.files.Tenants, "tenants", "", c.t("admit.flag.tenants"))
		fl.StringVar(&f.files.Flows, "flows", "", c.t("admit.flag.flows"))
		fl.StringVar(&f.files.IBProfiles, "ib-profiles", "", c.t("admit.flag.ib-profiles"))
	}
	return cmd
}

// admitBody builds the request from the flags.
func (c *cli) admitBody(cmd *cobra.Command, f *admitFlags) (body gen.AdmissionRequest, err error) {
	switch {
	case f.tenant == "":
		return body, c.usage("err.need-flag", "flag", "tenant")
	case f.weight == "" && !f.change:
		return body, c.usage("err.need-flag", "flag", "weight")
	}
	body = gen.AdmissionRequest{Tenant: f.tenant, Change: given(f.change), Policy: given(f.revision)}
	for _, x := range []struct {
		flag  string
		given []string
		to    *[]string
	}{{"ports", f.ports, &body.Ports}, {"to", f.to, &body.To}} {
		if len(x.given) == 0 {
			continue
		}
		if *x.to, err = expandPorts(x.given); err != nil {
			return body, c.badFlag(x.flag, err)
		}
	}
	if f.weight != "" {
		w, err := quantity.ParseWeight(f.weight)
		if err != nil {
			return body, c.badFlag("weight", err)
		}
		body.Weight = new(w.Float())
	}
	for _, x := range []struct {
		flag, text string
		to         **int64
	}{{"guarantee", f.guarantee, &body.GuaranteeBps}, {"cap", f.limit, &body.CapBps}} {
		if x.text == "" {
			continue
		}
		r, err := quantity.ParseBitRate(x.text)
		if err != nil {
			return body, c.badFlag(x.flag, err)
		}
		*x.to = new(int64(r))
	}
	if f.qps < 1 || f.qps > tenants.MaxQPs {
		return body, c.badFlag("qps", &phrase.Error{Text: phrase.Of("want", "found", f.qps, "want", fmt.Sprintf("1 to %d", tenants.MaxQPs))})
	}
	if cmd.Flags().Changed("qps") {
		body.QPS = &f.qps
	}
	if o := new(gen.CompileOptions); f.options.fill(cmd, o) {
		body.Options = o
	}
	return body, nil
}

// badFlag is the error for a flag whose value is invalid.
func (c *cli) badFlag(flag string, err error) error {
	return c.usage("err.flag", "flag", flag, "error", c.texts.Error(err))
}

func (c *cli) admitAsk(cmd *cobra.Command, f *admitFlags, body gen.AdmissionRequest) error {
	var a *gen.Admission
	var err error
	if f.files.Tenants != "" {
		a, err = c.admitOffline(cmd, f, body)
	} else {
		a, err = c.admitRemote(cmd, body)
	}
	if err != nil {
		return err
	}
	if c.output == "table" {
		err = c.showAdmission(cmd, a)
	} else {
		err = c.print(cmd, a)
	}
	switch {
	case err != nil:
		return err
	case a.Verdict == gen.AdmissionVerdictNo:
		return errors.New(c.t("err.not-admitted", "tenant", a.Tenant))
	case a.Verdict != gen.AdmissionVerdictYes && !f.reservations: // also for unknown verdicts of later releases: only a known positive verdict admits
		return errors.New(c.t("err.admitted-with-reservations", "tenant", a.Tenant))
	}
	return nil
}

// admitRemote sends the request to the service.
func (c *cli) admitRemote(cmd *cobra.Command, body gen.AdmissionRequest) (*gen.Admission, error) {
	for _, flag := range []string{"flows", "ib-profiles"} {
		if cmd.Flags().Changed(flag) {
			return nil, c.usage("err.admit-offline-only", "flag", flag)
		}
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	return found[gen.Admission](c)(client.AdmitTenantWithResponse(cmd.Context(), fabric, body))
}

// admitOffline runs the compiler. Flags for the service have no effect.
func (c *cli) admitOffline(cmd *cobra.Command, f *admitFlags, body gen.AdmissionRequest) (*gen.Admission, error) {
	for _, flag := range []string{"url", "token-file", "ca-file", "cert-file", "key-file", "policy"} {
		if cmd.Flags().Changed(flag) {
			return nil, c.usage("err.admit-online-only", "flag", flag)
		}
	}
	if c.fabricName == "" {
		return nil, c.usage("err.admit-fabric-file")
	}
	f.files.Fabric = c.fabricName
	return c.admit(f.files, body)
}
