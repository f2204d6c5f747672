package scenario
import ("testing";"context";"encoding/json";"os";"time")
func TestZZ(t *testing.T){
 name:=os.Getenv("ZZ"); if name=="" {t.Skip()}
 s,err:=LoadBuiltin(name); if err!=nil {t.Fatal(err)}
 est,_:=json.Marshal(s.Estimate()); t.Logf("%s", est)
 b:=time.Now()
 r,err:=RunEthernet(context.Background(),s,EtherOptions{})
 if err!=nil {t.Log(err)}
 t.Log(time.Since(b))
 r.Links=nil; r.Listed=nil; for i:=range r.Tenants{r.Tenants[i].RateBps=nil}; r.TimesS=nil
 o,_:=json.Marshal(r); t.Logf("%s",o)
}
