package umad

import (
	"context"
	"errors"
	"fmt"

	"fairlane/subnet/mad"
)

// offSAData is where the records of subnet administration begin.
const offSAData = 56

// Table asks subnet administration for every record that matches, by method GetTable, and
// returns their bytes. request says the attribute, the component mask and the components; its
// method is set. The answer travels in as many packets as it needs, which the kernel puts
// together; all of it has to come within a try, which waits eight times the timeout. No record is no error. A
// status other than zero is a *mad.StatusError; an answer longer than Options.MaxTable ends
// the client, since the kernel keeps it in front of all others.
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

// splitRecords cuts the data of a table into records of size bytes. What is left at the end is
// padding, and less than a record.
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
