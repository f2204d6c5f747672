package local

import (
	"errors"
	"slices"

	"fairlane/api"
	"fairlane/api/gen"
	"fairlane/command/remote"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/tenants"
)

// AdmitByFiles decides an admission request without the service.
func AdmitByFiles(files remote.AdmitFiles, body gen.AdmissionRequest) (*gen.Admission, error) {
	ask, err := api.AdmitRequestIn(&body)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	options, err := api.CompileOptionsIn(body.Options)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	f := compileFlags{fabric: files.Fabric, tenants: files.Tenants, flows: files.Flows, ibProfiles: files.IBProfiles, profile: options.Profile}
	if !ask.Change && tenants.ValidName(ask.Tenant) {
		f.beside = ask.Tenant
	}
	in, err := f.input()
	if err != nil {
		return nil, err
	}
	options.Profile = in.Options.Profile // in a file: its name
	in.Options = options
	if !ask.Change {
		declared := func(fl tenants.Flow) bool { return fl.Tenant == ask.Tenant }
		if !slices.ContainsFunc(in.Tenants, func(t tenants.Tenant) bool { return t.Name == ask.Tenant }) {
			for _, fl := range in.Flows {
				if declared(fl) {
					ask.Flows = append(ask.Flows, fl)
				}
			}
			in.Flows = slices.DeleteFunc(slices.Clone(in.Flows), declared)
		}
	}
	a, err := policy.Admit(in, ask)
	if refused := new(policy.AdmitError); errors.As(err, &refused) {
		return nil, usage.Wrap(phrase.Because(refused, phrase.Of("usage.flag-reason", "flag", refused.Field, "reason", refused.Err)))
	} else if err != nil {
		return nil, inputError(err)
	}
	out, err := api.AdmissionOut(a)
	return &out, err
}
