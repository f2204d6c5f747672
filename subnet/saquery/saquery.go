// Package saquery reads the port that a transport is attached to, and queries subnet administration for paths.
package saquery

import (
	"context"
	"errors"
	"fmt"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// OwnPort reads PortInfo of the port that the transport is attached to.
func OwnPort(ctx context.Context, t mad.Transport) (p mad.PortInfo, err error) {
	req := mad.NewDirected(mad.MethodGet, mad.AttrPortInfo, 0)
	err = Read(ctx, t, mad.Target{}, &req, &p)
	return p, err
}

// MasterLID returns the LID of the master subnet manager, which is also that of subnet administration. It reads
// PortInfo of the port that the transport is attached to.
func MasterLID(ctx context.Context, t mad.Transport) (ident.LID, error) {
	own, err := OwnPort(ctx, t)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read own port: %w", err)
	case !own.MasterSMLID.IsUnicast():
		return 0, errors.New("no subnet manager: the port's master SM LID is not set")
	}
	return own.MasterSMLID, nil
}

// Read exchanges a request for one attribute.
func Read(ctx context.Context, t mad.Transport, to mad.Target, req *mad.Packet, a mad.Attribute) error {
	resp, err := mad.Call(ctx, t, to, req)
	if err != nil {
		return err
	}
	return a.Decode(resp.Data())
}

// NoPathError means that a partition has no path.
type NoPathError struct{ PKey ident.PKey }

// Error names possible causes.
func (e NoPathError) Error() string {
	return fmt.Sprintf("subnet administration found no path: partition %s is not in the subnet manager's partitions.conf, or the port is not a member", e.PKey)
}

// PathSL queries subnet administration for a path between two ports in a partition and returns its service level. It
// fails with NoPathError when there is none.
func PathSL(ctx context.Context, t mad.Transport, sa, from, to ident.LID, pkey ident.PKey) (ident.SL, error) {
	rec, err := Path(ctx, t, sa, mad.PathRecord{SLID: from, DLID: to, PKey: pkey}, mad.PathCompSLID|mad.PathCompDLID|mad.PathCompPKey)
	return rec.SL, err
}

// Path queries subnet administration for one path; mask selects the components of the query. It fails with
// NoPathError when there is no path, and when subnet administration has no port with a GID of the query.
func Path(ctx context.Context, t mad.Transport, sa ident.LID, query mad.PathRecord, mask uint64) (rec mad.PathRecord, err error) {
	req := mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0)
	req.SetComponentMask(mask | mad.PathCompNumbPath)
	query.NumbPath = 1
	if err := query.Encode(req.Data()); err != nil {
		return rec, err
	}
	err = Read(ctx, t, mad.Target{LID: sa}, &req, &rec)
	var status *mad.StatusError
	if errors.As(err, &status) && (status.Status == mad.StatusSANoRecords || status.Status == mad.StatusSAInvalidGID) {
		return rec, NoPathError{query.PKey}
	}
	return rec, err
}
