package umad

import (
	"context"
	"errors"
	"fmt"

	"fairlane/subnet/mad"
)

// offSAData is the offset of the records of subnet administration.
const offSAData = 56

// Table queries subnet administration for every matching record, by method GetTable, and returns their bytes. request
// has the attribute, the component mask and the components; Table sets its method. The kernel reassembles the packets
// of the answer. The whole answer must arrive within one try, which waits eight times the timeout. An empty result is
// no error. A non-zero status is a *mad.StatusError. An answer longer than Options.MaxTable ends the client, because
// it blocks all later answers in the kernel.
func (c *Client) Table(ctx context.Context, sa mad.Target, request *mad.Packet) ([][]byte, error) {
	if class := request.Class(); class != mad.ClassSubnAdm {
		return nil, fmt.Errorf("table of %s: want class %s", class, mad.ClassSubnAdm)
	}
	req := *request
	req.SetMethod(mad.MethodGetTable)
	a, err := c.link.ExchangeWhole(ctx, sa, &req)
	what := mad.AttrName(req.Class(), req.Attr())
	if err != nil {
		return nil, fmt.Errorf("%s: table of %s: %w", sa, what, err)
	}
	switch s := a.Packet.Status(); s {
	case mad.StatusOK:
	case mad.StatusSANoRecords:
		return nil, nil
	default:
		return nil, &mad.StatusError{Status: s, Class: req.Class(), Attr: uint16(req.Attr()), Target: sa}
	}
	records, err := splitRecords(a.Packet[offSAData:max(offSAData, min(a.Length, mad.Size))], a.Rest, int(a.Packet.AttrOffset())*8)
	if err != nil {
		return nil, fmt.Errorf("%s: table of %s: %w", sa, what, err)
	}
	return records, nil
}

// splitRecords splits the data of a table into records of size bytes. A remainder at the end is padding, shorter than a
// record.
func splitRecords(first, rest []byte, size int) ([][]byte, error) {
	if size == 0 {
		if len(first)+len(rest) > 0 {
			return nil, errors.New("its records have no size")
		}
		return nil, nil
	}
	data := make([]byte, 0, len(first)+len(rest))
	data = append(append(data, first...), rest...)
	records := make([][]byte, 0, len(data)/size)
	for len(data) >= size {
		records = append(records, data[:size:size])
		data = data[size:]
	}
	return records, nil
}
