// Package saquery reads the port that a transport is attached to, and queries subnet administration for paths.
package saquery

import (
	"context"
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

// Read exchanges a request for one attribute.
func Read(ctx context.Context, t mad.Transport, to mad.Target, req *mad.Packet, a mad.Attribute) error {
	resp, err := mad.Call(ctx, t, to, req)
	if err != nil {
		return err
	}
	return a.Decode(resp.Data())
}

// saNoRecords is the class-specific half of a status of subnet administration (IBTA vol. 1, 15.2.3).
const saNoRecords = 3

// NoPathError means that a partition has no path.
type NoPathError struct{ PKey ident.PKey }

// Error names possible causes.
func (e NoPathError) Error() string {
	return fmt.Sprintf("subnet administration knows no path: partition %s is not in the subnet manager's partitions.conf, or the port is not a member", e.PKey)
}

// PathSL queries subnet administration for a path between two ports in a partition and returns its service level. It
// fails with NoPathError when there is none.
func PathSL(ctx context.Context, t mad.Transport, sa, from, to ident.LID, pkey ident.PKey) (ident.SL, error) {
	return Path(ctx, t, sa, mad.PathRecord{SLID: from, DLID: to, PKey: pkey}, mad.PathCompPKey)
}

// Path is PathSL for a query with more components than its LIDs.
func Path(ctx context.Context, t mad.Transport, sa ident.LID, query mad.PathRecord, more uint64) (ident.SL, error) {
	req := mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0)
	req.SetComponentMask(mad.PathCompSLID | mad.PathCompDLID | mad.PathCompNumbPath | more)
	query.NumbPath = 1
	if err := query.Encode(req.Data()); err != nil {
		return 0, err
	}
	resp, err := t.Exchange(ctx, mad.Target{LID: sa}, &req)
	if err != nil {
		return 0, err
	}
	if s := resp.Status(); s>>8 == saNoRecords {
		return 0, NoPathError{query.PKey}
	} else if s != mad.StatusOK {
		return 0, fmt.Errorf("subnet administration answers status 0x%04x", uint16(s))
	}
	var rec mad.PathRecord
	if err := rec.Decode(resp.Data()); err != nil {
		return 0, err
	}
	return rec.SL, nil
}
