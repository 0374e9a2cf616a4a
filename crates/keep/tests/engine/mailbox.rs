//! Mailboxes: numbers, both sides at once, replies, dismissal, following.

use std::cell::RefCell;
use std::rc::Rc;

use threadkeep::mailbox::{Body, MailFilter, Outgoing};
use threadkeep::protocol::Event;
use threadkeep_store::Store;

use crate::agent_support::{box_of, write};
use crate::{World, code, id, run};

fn to(from: &str, to: &str, text: &str) -> Outgoing {
    Outgoing { from: from.into(), to: to.into(), body: text.into(), ..Outgoing::default() }
}

#[test]
fn a_message_is_in_both_mailboxes_under_numbers_of_their_own() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.send(to("bob", "lal", "first")).await.unwrap();
        let sent = keep.send(to("ann", "lal", "second")).await.unwrap();
        assert_eq!(sent.number, 1);
        let lal = box_of(&keep, "lal").await;
        assert_eq!(lal.iter().map(|mail| mail.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(lal[1].message_id, sent.message_id);
        assert_eq!((lal[1].from.as_str(), lal[1].to.as_str()), ("ann", "lal"));
        assert!(lal[1].date > lal[0].date);
        // Another tab sees the same, and goes on counting.
        let tab = world.tab();
        assert_eq!(box_of(&tab, "lal").await, lal);
        assert_eq!(tab.send(to("ann", "lal", "third")).await.unwrap().number, 2);
        assert_eq!(tab.parties().await.unwrap(), ["ann", "bob", "lal"]);
    });
}

#[test]
fn a_reply_goes_to_the_other_and_names_what_it_answers() {
    let keep = World::default().tab();
    run(async {
        let asked = write(&keep, "hi", None).await;
        let answered = keep.reply("lal", 1, Body::text("ho")).await.unwrap();
        assert_eq!((answered.to.as_str(), answered.reply_to), ("ann", Some(asked.message_id.clone())));
        // To one's own message the reply goes on to the other, too.
        let more = keep.reply("ann", 1, Body::text("are you there?")).await.unwrap();
        assert_eq!((more.to.as_str(), more.reply_to), ("lal", Some(asked.message_id)));
        assert_eq!(code(keep.reply("ann", 9, Body::text("?")).await), "missing-mail");
    });
}

#[test]
fn a_message_of_the_same_id_is_sent_once() {
    let world = World::default();
    run(async {
        let mail = Outgoing { message_id: Some(id("m1")), ..to("ann", "lal", "hi") };
        let first = world.tab().send(mail.clone()).await.unwrap();
        assert_eq!(world.tab().send(mail).await.unwrap(), first);
        assert_eq!(box_of(&world.tab(), "lal").await.len(), 1);
    });
}

#[test]
fn one_who_writes_to_oneself_has_the_message_once() {
    let keep = World::default().tab();
    run(async {
        keep.send(to("ann", "ann", "remember the milk")).await.unwrap();
        assert_eq!(box_of(&keep, "ann").await.len(), 1);
        assert_eq!(code(keep.send(to("", "ann", "?")).await), "bad-request");
    });
}

#[test]
fn dismissed_messages_stay_and_are_left_out_of_lists() {
    let keep = World::default().tab();
    run(async {
        for at in 0..250 {
            keep.send(to("ann", "lal", &format!("m{at}"))).await.unwrap();
        }
        for number in 2..=249 {
            keep.dismiss("lal", number).await.unwrap();
        }
        let numbers = |mails: Vec<threadkeep::mailbox::Mail>| mails.iter().map(|mail| mail.number).collect::<Vec<_>>();
        let filter = MailFilter { limit: Some(2), ..MailFilter::default() };
        assert_eq!(numbers(keep.list_messages("lal", &filter).await.unwrap()), [1, 250]);
        assert_eq!(numbers(keep.list_messages("lal", &MailFilter { after: 1, ..filter }).await.unwrap()), [250]);
        assert_eq!(box_of(&keep, "lal").await.len(), 250);
        // The sender's own copy is the sender's to dismiss.
        assert!(box_of(&keep, "ann").await.iter().all(|mail| mail.dismissed.is_none()));
    });
}

#[test]
fn following_gives_ones_own_messages_too_and_each_once() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        write(&keep, "one", None).await;
        let mut followed = keep.follow_messages("ann", 0);
        assert_eq!(followed.next().await.unwrap().body.joined(), "one");
        let other = keep.clone();
        let (next, _) =
            join(followed.next(), async move { other.reply("lal", 1, Body::text("two")).await.unwrap() }).await;
        assert_eq!(next.unwrap().body.joined(), "two");
        // Another tab's are found when one looks.
        world.tab().reply("lal", 1, Body::text("three")).await.unwrap();
        assert_eq!(followed.next().await.unwrap().body.joined(), "three");
    });
}

/// Both, the first one polled first; the second is polled once the first waits, and then both again.
async fn join<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|context| {
        for _ in 0..2 {
            if first.is_none()
                && let std::task::Poll::Ready(value) = a.as_mut().poll(context)
            {
                first = Some(value);
            }
            if second.is_none()
                && let std::task::Poll::Ready(value) = b.as_mut().poll(context)
            {
                second = Some(value);
            }
        }
        match (first.is_some(), second.is_some()) {
            (true, true) => std::task::Poll::Ready(()),
            _ => std::task::Poll::Pending,
        }
    })
    .await;
    (first.unwrap(), second.unwrap())
}

#[test]
fn whoever_listens_is_told_of_both_sides() {
    let keep = World::default().tab();
    let heard = Rc::new(RefCell::new(Vec::new()));
    let listener = Rc::clone(&heard);
    keep.on_event(move |event| listener.borrow_mut().push(event.clone()));
    run(async {
        write(&keep, "hi", None).await;
        let mail = |party: &str| Event::Mail { party: party.into(), number: 1 };
        assert_eq!(*heard.borrow(), [mail("ann"), mail("lal")]);
    });
}

#[test]
fn deleting_everything_deletes_mailboxes() {
    let keep = World::default().tab();
    run(async {
        write(&keep, "hi", None).await;
        keep.delete_all().await.unwrap();
        assert_eq!(keep.parties().await.unwrap(), Vec::<String>::new());
    });
}

/// Sends texts to lal and deletes them again, each with its thread.
async fn sent_and_deleted(keep: &threadkeep::Keep<threadkeep_store::MemoryStore>, count: usize) {
    for at in 0..count {
        let sent = keep.send(to("ann", "lal", &format!("m{at}"))).await.unwrap();
        let theirs = keep.mail_of("lal", &sent.message_id).await.unwrap().unwrap();
        let inbound = threadkeep::protocol::Inbound {
            message_id: Some(sent.message_id),
            number: Some(theirs.number),
            ..threadkeep::protocol::Inbound::new("hi")
        };
        let node = keep.receive(inbound).await.unwrap();
        keep.delete_transcript(&node.transcript).await.unwrap();
    }
}

#[test]
fn the_number_of_a_deleted_message_is_not_given_again() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        sent_and_deleted(&keep, 3).await;
        assert!(box_of(&keep, "lal").await.is_empty());
        // By this tab, another one, or after everything was deleted; and the numbers of both mailboxes.
        assert_eq!(keep.send(to("ann", "lal", "a")).await.unwrap().number, 4);
        assert_eq!(world.tab().send(to("lal", "ann", "b")).await.unwrap().number, 5);
        world.tab().delete_all().await.unwrap();
        assert_eq!(keep.parties().await.unwrap(), Vec::<String>::new());
        let sent = keep.send(to("ann", "lal", "c")).await.unwrap();
        let numbers = box_of(&keep, "lal").await;
        assert_eq!((sent.number, numbers[0].number), (6, 6));
        // A party that is new begins above all that was ever given, and what was deleted leaves no names.
        keep.delete_all().await.unwrap();
        let left = run(world.store.scan(&threadkeep_store::Scan::range("", "\u{7f}"))).unwrap();
        assert_eq!(left.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["n//0000000000000006"]);
        assert_eq!(keep.send(to("bob", "cat", "d")).await.unwrap().number, 7);
    });
}

#[test]
fn a_store_without_marks_goes_on_above_its_messages_and_its_agents() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        for text in ["1", "2"] {
            keep.send(to("ann", "lal", text)).await.unwrap();
        }
        // As an older version left it: no marks, and an agent that has seen a message that is gone.
        let mut commit = threadkeep_store::Commit::default();
        let marks = threadkeep_store::Scan::prefix("n/");
        commit.delete_ranges.push((marks.start, marks.end));
        commit.puts.push(("a/lal".to_owned(), br#"{"seen": 57, "open": []}"#.to_vec()));
        world.store.commit(commit).await.unwrap();
        assert_eq!(world.tab().send(to("ann", "lal", "3")).await.unwrap().number, 3);
        let newest = box_of(&world.tab(), "lal").await.pop().unwrap();
        assert_eq!(newest.number, 58);
    });
}

#[test]
fn two_tabs_that_send_while_messages_are_deleted_never_share_a_number() {
    let world = World::default();
    let store = crate::agent_support::Breathing(world.store.clone(), true);
    let open =
        || run(threadkeep::Keep::open(store.clone(), world.host.clone(), threadkeep::Options::default())).unwrap();
    let (one, two) = (open(), open());
    let given = RefCell::new(Vec::new());
    run(async {
        let sends = async |keep: &threadkeep::Keep<_>| {
            for at in 0..20 {
                let sent = keep.send(to("ann", "lal", &format!("{at}"))).await.unwrap();
                given.borrow_mut().push(sent.number);
                let inbound = threadkeep::protocol::Inbound {
                    message_id: Some(sent.message_id),
                    number: Some(sent.number),
                    ..threadkeep::protocol::Inbound::new("hi")
                };
                let node = keep.receive(inbound).await.unwrap();
                keep.delete_transcript(&node.transcript).await.unwrap();
            }
        };
        join(sends(&one), sends(&two)).await;
    });
    let mut numbers = given.into_inner();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
}
