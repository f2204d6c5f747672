package placement

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"fairlane/internal/certpool"
	"fairlane/service/config"
	"fairlane/service/placement/smfile"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/ufm"
	"fairlane/subnet/umad"
)

// Managers are the subnet managers that place tenants' partitions, by fabric.
type Managers map[string]*smfile.File

// ReadManagers reads the files of the setting subnet_managers, whose entries are "FABRIC=PATH".
func ReadManagers(list []string) (Managers, error) {
	out := Managers{}
	var faults []error
	for _, entry := range list {
		fabric, path, _ := strings.Cut(entry, "=")
		if out[fabric] != nil {
			faults = append(faults, fmt.Errorf("fabric %q has two files: want one", fabric))
			continue
		}
		f, err := smfile.Load(path)
		if err == nil {
			err = checkSubnetManager(f)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		out[fabric] = f
	}
	return out, errors.Join(faults...)
}

// checkSubnetManager checks what the parser of the file cannot check, and the files with secrets.
func checkSubnetManager(f *smfile.File) error {
	if f.UFM != nil {
		_, err := UFMClient(f.UFM)
		return err
	}
	return CheckOptions(f.OpenSM)
}

// CheckOptions returns an error if OpenSM's options file is not where the file says: OpenSM does not read an absent
// one. The partitions file may be absent, since Fairlane writes it.
func CheckOptions(o *smfile.OpenSM) error {
	if _, err := os.Stat(o.Options); err != nil {
		return fmt.Errorf("opensm.options: %w: want the file that OpenSM is given with -F; opensm -c %s writes one", err, o.Options)
	}
	return nil
}

// PlanOptions returns the options that a plan does not define.
func PlanOptions(o *smfile.OpenSM) opensm.PlanOptions {
	return opensm.PlanOptions{IPoIB: !o.NoIPoIB, AllMembers: o.AllMembers}
}

// OpenSM returns the manager of an OpenSM's files, with a transport on its fabric.
func OpenSM(o *smfile.OpenSM, t mad.Transport) (*opensm.Manager, error) {
	cfg := opensm.Config{
		Options: o.Options, Partitions: o.Partitions, Policy: o.Policy,
		SMPorts:  func() ([]ident.GUID, error) { return umad.SMPorts(umad.Options{}) },
		Settings: osmfile.Settings{LeaveOptions: o.LeaveOptions, LeavePolicy: o.LeavePolicy, OneLane: !o.LeaveLanes, StopCC: o.StopCC},
	}
	var reload opensm.Reloader = opensm.PIDFile{Path: o.PIDFile}
	if o.Unit != "" {
		reload = opensm.Unit{Name: o.Unit}
	}
	return opensm.New(cfg, opensm.Disk{}, reload, t)
}

// UFMClient reads the credentials and the certificate authorities for UFM, and sends nothing. It has connections of its
// own; Placements shares connections between operations.
func UFMClient(u *smfile.UFM) (*ufm.Client, error) { return ufmClient(u, newUFMConnections) }

// ufmClient is UFMClient on the connections of an HTTP client that trusts the given authorities; nil means those of the
// system.
func ufmClient(u *smfile.UFM, connections func(*x509.CertPool) *http.Client) (*ufm.Client, error) {
	o := ufm.Options{URL: u.URL, User: u.User}
	var err error
	if o.Token, err = config.Secret(u.TokenFile); err != nil {
		return nil, err
	}
	if o.Password, err = config.Secret(u.PasswordFile); err != nil {
		return nil, err
	}
	var authorities *x509.CertPool
	if u.CAFile != "" {
		if authorities, err = certpool.Read(u.CAFile); err != nil {
			return nil, err
		}
	}
	o.HTTP = connections(authorities)
	return ufm.New(o)
}
