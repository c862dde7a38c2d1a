"""Trains the stacks of the compiled-in reader: KEY=VALUE ...; training/README.md has the calls.

Beside this file: init.npz (all-MiniLM-L6-v2, rows in 8 bits), vocab.txt, data.json.gz and texts.gz. `data.json.gz` has

- pairs: {a, b, l, s}: two statements, a label (contradicting, updating, compatible, unrelated), the name of the set;
- lasting: {a, b, l}: what was said before, a sentence, keep or drop;
- notes: {name, lines: [{c, t}], qs, ps}: lines under headings, questions and messages with the lines that answer (g) or are outdated (s);
- inject: the same for memories and messages; conv: {q, p, n}: a question, messages that answer it, others.

`testpairs` and `testnotes` leave sets out and report precision and recall on them; `final=1` trains on everything.
"""
import json,gzip,sys,random,math,time,os
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from transformers import BertConfig, BertModel
from tokenizers import BertWordPieceTokenizer
H=os.path.dirname(os.path.abspath(__file__))
args=dict(a.split('=') for a in sys.argv[1:])
name=args.get('name','x'); layers=[int(i) for i in args.get('layers','0,1,2,3,4,5').split(',')]
epochs=int(args.get('epochs','12')); lr=float(args.get('lr','1e-4')); seed=int(args.get('seed','1')); final=args.get('final')=='1'
tasks=args.get('tasks','pair,notes,turn,conv,lasting').split(',')
random.seed(seed); torch.manual_seed(seed)
dev='cuda'
z=np.load(H+'/init.npz')
sd={}
for k in z.files:
    if k.endswith('.s'): continue
    w=z[k].astype(np.float32)
    if k+'.s' in z.files: w=w*z[k+'.s'].astype(np.float32)
    sd[k]=torch.tensor(w)
cfg=BertConfig(vocab_size=30522,hidden_size=384,num_hidden_layers=6,num_attention_heads=12,intermediate_size=1536,max_position_embeddings=512,hidden_dropout_prob=0.1,attention_probs_dropout_prob=0.1)
m=BertModel(cfg,add_pooling_layer=False)
miss=m.load_state_dict(sd,strict=False); 
base=BertModel(cfg,add_pooling_layer=False); base.load_state_dict(sd,strict=False); base.to(dev).eval()
m.encoder.layer=nn.ModuleList([m.encoder.layer[i] for i in layers]); m.config.num_hidden_layers=len(layers)
FREEZE=args.get('freeze','1')=='1'
HEADS={'pair':3,'keep':1,'helps':1}; w_bi=float(args.get('wbi','1'))
class Net(nn.Module):
    def __init__(s):
        super().__init__(); s.m=m; s.h=nn.ModuleDict({k:nn.Linear(384,n) for k,n in HEADS.items()})
    def vec(s,ids,mask,mod=None):
        x=(mod or s.m)(input_ids=ids,attention_mask=mask).last_hidden_state
        mk=mask.unsqueeze(-1).to(x.dtype); return (x*mk).sum(1)/mk.sum(1)
    def forward(s,ids,mask,head): return s.h[head](F.dropout(s.vec(ids,mask),0.1,s.training).float())
net=Net().to(dev)
if FREEZE:
    for p in net.m.embeddings.parameters(): p.requires_grad=False
    net.m.embeddings.eval()
tk=BertWordPieceTokenizer(H+'/vocab.txt',lowercase=True)
def enc(a,b=None,L=128):
    e=tk.encode(a[:600],b[:600]) if b is not None else tk.encode(a[:600])
    ids=e.ids
    if len(ids)>L: ids=ids[:L-1]+[102]
    return ids
def pad(seqs):
    n=max(map(len,seqs)); ids=torch.zeros(len(seqs),n,dtype=torch.long); mk=torch.zeros(len(seqs),n,dtype=torch.long)
    for i,s in enumerate(seqs): ids[i,:len(s)]=torch.tensor(s); mk[i,:len(s)]=1
    return ids.to(dev),mk.to(dev)
def run(seqs,head,bs=512):
    net.eval(); order=sorted(range(len(seqs)),key=lambda i:len(seqs[i])); out=[None]*len(seqs)
    with torch.no_grad(), torch.autocast('cuda',dtype=torch.bfloat16):
        for i in range(0,len(order),bs):
            idx=order[i:i+bs]; r=net(*pad([seqs[j] for j in idx]),head).float().cpu().numpy()
            for j,v in zip(idx,r): out[j]=v
    return np.array(out)
def embed(texts,bs=512):
    seqs=[enc(t) for t in texts]; out=np.zeros((len(seqs),384),np.float32)
    with torch.no_grad():
        for i in range(0,len(seqs),bs):
            v=net.vec(*pad(seqs[i:i+bs]),mod=base); out[i:i+bs]=F.normalize(v,dim=-1).cpu().numpy()
    return out
data=json.load(gzip.open(H+'/data.json.gz','rt'))
TEST_PAIRS=set(args.get('testpairs','dev-6').split(',')); TEST_NOTES=set(args.get('testnotes','biologist,engineer,stranger_example').split(','))
if final: TEST_PAIRS=set();TEST_NOTES=set()
lt=lambda x:((x['c']+': ') if x['c'] else '')+x['t']
YM={'contradicting':1,'updating':2,'compatible':0,'unrelated':0}
import re,collections
NAME=re.compile(r"\b[A-Z][a-z]{2,}\b")
_c=collections.Counter(w for p in data['pairs'] for w in set(NAME.findall(p['a']))&set(NAME.findall(p['b'])))
NAMES=[w for w in _c if w not in ('The','Our','My','His','Her','Your','Their','This','That','When','Always','Never','Use','Monday','Tuesday','Wednesday','Thursday','Friday','Saturday','Sunday')]
T=[]  # training items: (kind, ...)
P=[p for p in data['pairs']]
for p in P:
    if p['s'] in TEST_PAIRS or p['s'] in args.get('drop','').split(','): continue
    T.append(('pair',p))
mems=data['notes']
inj=data['inject']; mems.append(dict(name='inject',split='inject',lines=[dict(c='',t=t) for t in inj['lines']],qs=[],ps=inj['ps']))
for mem in mems:
    L=mem['lines']; mem['v']=embed([lt(x) for x in L]); mem['ids']=[lt(x) for x in L]
    for kind,qs in (('notes',mem['qs']),('turn',mem['ps'])):
        if not qs: continue
        V=embed([q['q'] for q in qs]); S=V@mem['v'].T
        for q,s in zip(qs,S): q['sim']=s
    if mem['name'] in TEST_NOTES: continue
    for q in mem['qs']: T.append(('notes',mem,q))
    for q in mem['ps']: T.append(('turn',mem,q)); T.append(('helps',mem,q))
for c in data['conv']: T.append(('conv',c))
for k in data['lasting']: T.append(('lasting',k))
T=[t for t in T if t[0] in tasks]
lasttest=[]
if not final:
    K=[t for t in T if t[0]=='lasting']; lasttest=K[::5]; drop=set(map(id,lasttest)); T=[t for t in T if id(t) not in drop]
print({k:sum(t[0]==k for t in T) for k in set(t[0] for t in T)})
def group(t):
    """-> query, positive, hard negatives"""
    if t[0]=='conv':
        c=t[1]; return c['q'],random.choice(c['p']),random.sample(c['n'],min(3,len(c['n'])))
    mem,q=t[1],t[2]; ids=mem['ids']; bad=set(q['g'])|set(q['s'])
    if not q['g']: return None
    order=[i for i in np.argsort(-q['sim'])[:30] if i not in bad]
    return q['q'],ids[random.choice(q['g'])],[ids[i] for i in random.sample(order,3)]
opt=torch.optim.AdamW([{'params':[p for n,p in net.named_parameters() if n.startswith('m.') and p.requires_grad],'lr':lr},{'params':net.h.parameters(),'lr':lr*5}],weight_decay=0.01)
def batches():
    pairs=[t for t in T if t[0]=='pair']; las=[t for t in T if t[0]=='lasting']; rel=[t for t in T if t[0] in('notes','turn','conv')]
    # small tasks are seen more often
    rel=[t for t in rel for _ in range(2 if t[0]!='conv' else 1)]
    B=[]
    random.shuffle(pairs); random.shuffle(las); random.shuffle(rel)
    for i in range(0,len(pairs),64): B.append(('pair',pairs[i:i+64]))
    hp=[t for t in T if t[0]=='helps']; random.shuffle(hp)
    for i in range(0,len(hp),24): B.append(('helps',hp[i:i+24]))
    for i in range(0,len(las),64): B.append(('keep',las[i:i+64]))
    rel=[t for t in rel if t[0]=='conv' or t[2]['g']]
    if w_bi>0:
        for i in range(0,len(rel),48): B.append(('bi',rel[i:i+48]))
    random.shuffle(B); return B
teach=args.get('teacher')
if teach:
    # the student learns the teacher's vectors of ordinary texts
    zt=np.load(teach); ts={}
    for k in zt.files:
        if k.endswith('.s'): continue
        w=zt[k].astype(np.float32)
        if k+'.s' in zt.files: w=w*zt[k+'.s'].astype(np.float32)
        ts[k]=torch.tensor(w)
    TL=1+max(int(k.split('.')[3]) for k in ts if k.startswith('m.encoder.layer'))
    tm=BertModel(BertConfig(**{**cfg.to_dict(),'num_hidden_layers':TL}),add_pooling_layer=False)
    print('teacher',tm.load_state_dict({k[2:]:v for k,v in ts.items() if k.startswith('m.')},strict=False).missing_keys[:3],TL)
    tm.to(dev).eval()
    txt=gzip.open(H+'/texts.gz','rt').read().split('\n')
    txt+=[t for mem in mems if mem['name'] not in TEST_NOTES for t in mem['ids']+[q['q'] for q in mem['qs']+mem['ps']]]*4
    seqs=[enc(t,L=64) for t in txt if t]; 
    dopt=torch.optim.AdamW([p for n,p in net.named_parameters() if n.startswith('m.') and p.requires_grad],lr=3e-4,weight_decay=0.01)
    DE=int(args.get('depochs','3')); bs=256; tot=DE*(len(seqs)//bs); it=0; net.train(); net.m.embeddings.eval(); t1=time.time()
    for e in range(DE):
        order=list(range(len(seqs))); random.shuffle(order)
        big=[sorted(order[i:i+bs*40],key=lambda j:len(seqs[j])) for i in range(0,len(order),bs*40)]
        bat=[b[i:i+bs] for b in big for i in range(0,len(b),bs)]; random.shuffle(bat); acc=[]
        for b in bat:
            ids,mk=pad([seqs[j] for j in b])
            with torch.no_grad(), torch.autocast('cuda',dtype=torch.bfloat16): tv=F.normalize(net.vec(ids,mk,mod=tm).float(),dim=-1)
            with torch.autocast('cuda',dtype=torch.bfloat16): sv=F.normalize(net.vec(ids,mk).float(),dim=-1)
            loss=(1-(sv*tv).sum(-1)).mean()
            for gr in dopt.param_groups: gr['lr']=3e-4*min(1,(it+1)/200)*max(.02,1-it/tot)
            dopt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(),1.); dopt.step(); it+=1; acc.append(loss.item())
        print(name,'distil',e+1,round(sum(acc)/len(acc),4),round(time.time()-t1),'s',flush=True)
steps=epochs*len(batches()); step=0; t0=time.time()
sched=torch.optim.lr_scheduler.LambdaLR(opt,lambda s:min(1,(s+1)/(0.08*steps))*max(0.02,1-s/steps))
EMA=float(args.get('ema','0.995')); shadow={k:v.detach().clone() for k,v in net.state_dict().items()}
def ema_step():
    global step; step+=1; d=min(EMA,(1+step)/(10+step))
    with torch.no_grad():
        for k,v in net.state_dict().items():
            if v.dtype.is_floating_point: shadow[k].mul_(d).add_(v.detach(),alpha=1-d)
def swap():
    global shadow; cur={k:v.detach().clone() for k,v in net.state_dict().items()}; net.load_state_dict(shadow); shadow=cur
def evaluate():
    r={}
    tp=[p for p in P if p['s'] in TEST_PAIRS]
    if tp and 'pair' in {x[0] for x in T}:
        lo=run([enc(p['a'],p['b']) for p in tp],'pair'); lo2=run([enc(p['b'],p['a']) for p in tp],'pair')
        pr=(softmax(lo)+softmax(lo2))/2; s=1-pr[:,0]; y=np.array([YM[p['l']]>0 for p in tp])
        o=np.argsort(-s); tpc=np.cumsum(y[o]); prec=tpc/np.arange(1,len(o)+1); rec=tpc/y.sum()
        best={f'R@P{x}':float(max([rc for pc,rc in zip(prec,rec) if pc>=x],default=0)) for x in(.98,.95,.9,.85)}
        at={f't{t}':(round(float(y[s>t].mean()),3) if (s>t).any() else 0,round(float((s>t)[y].mean()),3)) for t in(.5,.8,.9,.95)}
        r['pairs']={**best,**at}
        if args.get('dump'): json.dump([dict(a=p['a'],b=p['b'],l=p['l'],s=p['s'],p=float(x),u=float(u)) for p,x,u in zip(tp,s,pr[:,2])],open(args['dump'],'w'))
        if args.get('fp'): print('FP',[(round(float(s[i]),3),tp[i]['l'],tp[i]['a'],tp[i]['b']) for i in o if not y[i]][:25])
    def emb(texts):
        net.eval(); out=[]
        with torch.no_grad(), torch.autocast('cuda',dtype=torch.bfloat16):
            for i in range(0,len(texts),512): out.append(F.normalize(net.vec(*pad([enc(t) for t in texts[i:i+512]])).float(),dim=-1).cpu().numpy())
        return np.concatenate(out)
    for mem in mems:
        if mem['name'] not in TEST_NOTES: continue
        if w_bi==0: continue
        V=emb(mem['ids'])
        for head,qs in(('rel',mem['qs']),('turn',mem['ps'])):
            if not qs: continue
            S=emb([q['q'] for q in qs])@V.T
            c=dict(n=0,first=0,top6=0,top24=0,bi1=0,bi6=0); mx=[]
            for q,s in zip(qs,S):
                mx.append((float(s.max()),bool(q['g'])))
                if not q['g']: continue
                g=set(q['g']); o=np.argsort(-s); c['n']+=1
                c['first']+=int(o[0] in g); c['top6']+=bool(g&set(o[:6].tolist())); c['top24']+=bool(g&set(o[:24].tolist()))
                o=np.argsort(-q['sim']); c['bi1']+=int(o[0] in g); c['bi6']+=bool(g&set(o[:6].tolist()))
            pos=[a for a,k in mx if k]; neg=[a for a,k in mx if not k]
            c['auc']=round(float(np.mean([float(a>b) for a in pos for b in neg])),3) if neg else 0
            r[mem['name']+':'+head]=c
    if 'helps' in tasks:
        for mem in mems:
            if mem['name'] not in TEST_NOTES or not mem['ps']: continue
            pos=[];top=[];non=[];hit=0
            for q in mem['ps']:
                c=list(np.argsort(-q['sim'])[:10]); sc=run([enc(q['q'],mem['ids'][i]) for i in c],'helps')[:,0]
                if q['g']:
                    b=c[int(np.argmax(sc))]; top.append(float(sc.max())); hit+=int(b in q['g'])
                else: non.append(float(sc.max()))
            r['helps:'+mem['name']]=dict(n=len(top),in10=sum(bool(set(q['g'])&set(np.argsort(-q['sim'])[:10].tolist())) for q in mem['ps'] if q['g']),best=hit,auc=round(float(np.mean([a>b for a in top for b in non])),3) if non else 0)
    if lasttest:
        s=run([enc(t[1]['a'],t[1]['b']) for t in lasttest],'keep')[:,0]; y=np.array([t[1]['l']=='keep' for t in lasttest])
        o=np.argsort(-s); tpc=np.cumsum(y[o]); prec=tpc/np.arange(1,len(o)+1); rec=tpc/y.sum()
        r['lasting']={f'R@P{x}':round(float(max([rc for pc,rc in zip(prec,rec) if pc>=x],default=0)),3) for x in(.97,.95,.9,.85)}
    return r
def softmax(x): e=np.exp(x-x.max(1,keepdims=True)); return e/e.sum(1,keepdims=True)
for ep in range(epochs):
    net.train(); tot={}
    if FREEZE: net.m.embeddings.eval()
    for h,ts in batches():
        if h=='pair':
            sw=[random.random()<.5 for _ in ts]; seqs=[]; y=[]
            for (_,p),s in zip(ts,sw):
                c=YM[p['l']]; 
                if s and c==2: c=1
                seqs.append(enc(p['b'],p['a']) if s else enc(p['a'],p['b'])); y.append(c)
            k=len(ts)
            for i in range(int(k*float(args.get('mis','0.25')))):
                j=(i+1+random.randrange(k-1))%k; seqs.append(enc(ts[i][1]['a'],ts[j][1]['b']) if random.random()<.5 else enc(ts[i][1]['b'],ts[j][1]['b'])); y.append(0)
            y=torch.tensor(y,device=dev)
            with torch.autocast('cuda',dtype=torch.bfloat16): o=net(*pad(seqs),'pair')
            loss=F.cross_entropy(o.float(),y,label_smoothing=0.05)
        elif h=='helps':
            seqs=[];y=[]
            for _,mem,q in ts:
                ids=mem['ids']; bad=set(q['g'])|set(q['s'])
                for g in q['g'][:2]: seqs.append(enc(q['q'],ids[g])); y.append(1.)
                neg=[i for i in np.argsort(-q['sim'])[:12] if i not in bad]
                for i in random.sample(neg,min(3,len(neg))): seqs.append(enc(q['q'],ids[i])); y.append(0.)
                j=random.randrange(len(ids))
                if j not in bad: seqs.append(enc(q['q'],ids[j])); y.append(0.)
            y=torch.tensor(y,device=dev)
            with torch.autocast('cuda',dtype=torch.bfloat16): o=net(*pad(seqs),'helps')[:,0].float()
            loss=F.binary_cross_entropy_with_logits(o,y*.94+.03,pos_weight=torch.tensor(2.,device=dev))
        elif h=='keep':
            seqs=[enc(t[1]['a'],t[1]['b']) for t in ts]; y=torch.tensor([float(t[1]['l']=='keep') for t in ts],device=dev)
            with torch.autocast('cuda',dtype=torch.bfloat16): o=net(*pad(seqs),'keep')
            loss=F.binary_cross_entropy_with_logits(o[:,0].float(),y*.95+.025)
        else:
            G=[g for g in map(group,ts) if g]
            with torch.autocast('cuda',dtype=torch.bfloat16):
                q=F.normalize(net.vec(*pad([enc(g[0]) for g in G])).float(),dim=-1)
                d=F.normalize(net.vec(*pad([enc(x) for g in G for x in [g[1]]+g[2]])).float(),dim=-1)
            at=[];i=0
            for g in G: at.append(i); i+=1+len(g[2])
            loss=w_bi*F.cross_entropy(q@d.T*20,torch.tensor(at,device=dev))
        opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(),1.); opt.step(); sched.step(); ema_step()
        tot.setdefault(h,[]).append(loss.item())
    if ep%6==5 or ep==epochs-1:
        print(name,'ep',ep+1,{k:round(sum(v)/len(v),3) for k,v in tot.items()},round(time.time()-t0),'s',flush=True)
        if not final:
            swap(); r=evaluate(); swap(); print(name,json.dumps(r),flush=True)
if EMA>0: swap()
if args.get('save'):
    sd={k:v.detach().half().cpu().numpy() for k,v in net.state_dict().items()}
    q={}
    for k,w in sd.items():
        w=w.astype(np.float32)
        if w.ndim==2 and w.shape[0]>8 and 'position' not in k:
            s=np.abs(w).max(1,keepdims=True)/127+1e-12; q[k]=np.round(w/s).astype(np.int8); q[k+'.s']=s.astype(np.float16)
        else: q[k]=w.astype(np.float16)
    np.savez(args['save'],**q)

if args.get('out'):
    sd={k:v.detach().half().cpu().numpy() for k,v in net.state_dict().items() if 'embeddings' not in k and (w_bi==0 or k.startswith('m.'))}
    a={k:v for k,v in sd.items() if 'layer.' in k and int(k.split('.')[3])<3}; b={k:v for k,v in sd.items() if k not in a}
    np.savez(args['out']+'-a.npz',**a); np.savez(args['out']+'-b.npz',**b); print('saved')
