//! Engines on scopes of one store: what one has, no other sees.

use threadkeep::{Keep, Options};
use threadkeep_core::Message;
use threadkeep_store::{MemoryStore, Scan, Scoped, Store, scoped};

use crate::{World, code, id, inbound, run, texts, users};

fn scope(world: &World, name: &str) -> Keep<Scoped<MemoryStore>> {
    let store = Scoped::new(world.store.clone(), name).unwrap();
    run(Keep::open(store, world.host.clone(), Options::default())).unwrap()
}

fn keys(world: &World) -> Vec<String> {
    run(world.store.scan(&Scan::prefix(""))).unwrap().into_iter().map(|(key, _)| key).collect()
}

#[test]
fn what_one_scope_has_no_other_sees() {
    let world = World::default();
    let (ann, bob, whole) = (scope(&world, "ann"), scope(&world, "bob"), world.tab());
    run(ann.append("main", users(3))).unwrap();
    run(ann.receive(inbound("same", None, "hers"))).unwrap();
    run(bob.receive(inbound("same", None, "his"))).unwrap();
    assert_eq!(run(ann.get_range("main", 0, u32::MAX)).unwrap().len(), 3);
    assert_eq!(run(bob.get_range("main", 0, u32::MAX)).unwrap(), []);
    assert_eq!(run(whole.get_range("main", 0, u32::MAX)).unwrap(), []);
    assert_eq!(texts(&run(bob.node(&id("same"))).unwrap().unwrap().messages), ["his"]);
    assert!(run(whole.node(&id("same"))).unwrap().is_none());
    assert!(keys(&world).iter().all(|key| key.starts_with("@ann/") || key.starts_with("@bob/")));
    // Deleting everything is deleting what the engine sees.
    run(whole.delete_all()).unwrap();
    run(bob.delete_all()).unwrap();
    assert!(keys(&world).iter().all(|key| key.starts_with("@ann/")));
    assert_eq!(run(ann.get_range("main", 0, u32::MAX)).unwrap().len(), 3);
}

#[test]
fn an_engine_whose_scope_was_deleted_adds_nothing_to_what_is_gone() {
    let world = World::default();
    let ann = scope(&world, "ann");
    run(ann.append("main", users(3))).unwrap();
    let node = run(ann.receive(inbound("growing", None, "hers"))).unwrap();
    run(scoped::delete(&world.store, "ann")).unwrap();
    assert_eq!(keys(&world), [""; 0]);
    assert_eq!(code(run(ann.extend(&node.id, vec![Message::assistant("more")]))), "missing-node");
    assert_eq!(run(ann.get_range("main", 0, u32::MAX)).unwrap(), []);
    run(ann.append("main", users(1))).unwrap();
    assert_eq!(texts(&run(ann.get_range("main", 0, u32::MAX)).unwrap()), ["m0"]);
    assert_eq!(run(scoped::names(&world.store, None, 10)).unwrap(), ["ann"]);
}
